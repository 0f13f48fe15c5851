"""Makes valid, typical tf.data pipelines from a seed, as source text that runs on TensorFlow and on feedline.

A pipeline is a list of lines, each of which assigns `ds`; the names in them are those of the conformance corpus: `d` is
`tf.data` or `feedline`, `xp` the operations that user functions need, `data` the folder of files to read and `tmp` an
empty folder. The types of elements are tracked from step to step, so that each step fits its input.
"""

from __future__ import annotations

import random

from tests.differential.element_types import Leaf
from tests.differential.rare import Rare
from tests.differential.rare_arguments import RareArguments
from tests.differential.sources import ENDLESS

RARE = {"source with arguments": 0.01, "step with arguments": 0.03, "": 0.86, "source": 0.03, "step": 0.07}


class Maker(Rare, RareArguments):
    """Makes one random pipeline: `lines`. A separate random generator chooses where a rare source or step is (`RARE`),
    so that adding rare ones changes neither the other pipelines nor their stored TensorFlow results.
    """

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        chance = random.Random(f"{seed}/rare")
        rare = chance.choices(list(RARE), list(RARE.values()))[0]
        self.lines = []
        self.n, self.files = 0, 0
        self.type = Leaf("int64")
        if self.dice.random() < 0.2:
            self.lines.append(f"xp.set_global_seed({self.dice.randint(0, 99)})")
        sources = {"source": self.rare_source, "source with arguments": self.source_with_arguments}
        text, self.type, self.n = sources.get(rare, self.made_source)()
        self.add(text)
        steps = self.dice.randint(1, 8)
        added = {"step": self.rare_step, "step with arguments": self.step_with_arguments}.get(rare)
        place = chance.randrange(steps)
        for i in range(steps):
            if i == place and added is not None:
                added()
            self.step()
        if self.n >= ENDLESS:
            self.add(f"ds.take({self.dice.choice((7, 30))})")


def pipeline(seed: int) -> list[str]:
    """The lines of a pipeline."""
    return Maker(seed).lines
