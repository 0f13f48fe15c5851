"""Differences from TensorFlow that docs/differences.md lists; all others are bugs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Expected = Callable[[list[str]], dict[str, Any]]

SEQUENTIAL = "o = d.Options(); o.autotune.enabled = False; o.experimental_optimization.inject_prefetch = False"
KEEPS_THE_END = (
    r"(zip|enumerate|interleave|group_by_window|bucket_by_sequence_length|snapshot|cache|rejection_resample)\("
)
TAKES_FOR_THE_END = r"(\.window|group_by_window|bucket_by_sequence_length|parallel_interleave)\("
KEPT_IN_A_FILE = r"ds\.cache\(tmp"
RESHUFFLED = r"(shuffle\(|shuffle_and_repeat\(|shuffle=True|Dataset\.random\(|list_files\()"
TURNS = r"(parallel_interleave\(.*block_length=\d)(, \w+=\w+)*\)\)$"
MODEST_TURNS = ", buffer_output_elements=1, prefetch_input_elements=0"
ROW_SPLITS = "InvalidArgumentError (Expected row_splits Tensor dtype: int32, found: int64"
UNFUSED = "o.experimental_optimization.map_and_batch_fusion = False"


def sequential(lines: list[str]) -> list[list[str]]:
    """Variants of the pipeline without stages that run ahead of their consumer, even those that TensorFlow inserts;
    with `drop_remainder`, also without map_and_batch_fusion; and with the least read-ahead of `parallel_interleave`.
    """
    plain = [re.sub(r", (num_parallel_(calls|reads)=-?\d+|deterministic=True)", "", line) for line in lines]
    plain = [line for line in plain if "ds.prefetch(" not in line]
    found = [[*plain, SEQUENTIAL, "ds = ds.with_options(o)"]]
    if any("drop_remainder=True" in line for line in lines):
        found.append([*plain, f"{SEQUENTIAL}; {UNFUSED}", "ds = ds.with_options(o)"])
    if any("parallel_interleave(" in line for line in lines):
        found += [[re.sub(TURNS, rf"\1{MODEST_TURNS}))", line) for line in other] for other in found]
    return found


def explanation(lines: list[str], why: str, gold: dict[str, Any], got: dict[str, Any], expected: Expected) -> str:
    """Why a difference is intended; empty if it is not. `expected` returns TensorFlow's result for some lines."""
    text = "\n".join(lines)
    if why.startswith("cardinality") and why.endswith("got -2") and re.search(r"map\((.|\n)*unbatch", text):
        return "the rows of a batch that a function made are not counted without calling it"
    if why.startswith("cardinality") and why.endswith("got 0") and _repeats_nothing(lines, expected):
        return "TensorFlow's shuffle_and_repeat of an empty dataset says that it has no end"
    if why.startswith("epoch") and _lost(lines, why, gold, got, expected):
        return "TensorFlow takes an error that comes with the end of what it puts into windows for the end alone"
    if why.startswith("epoch") and _error_before(why, gold) and re.search(KEEPS_THE_END, text):
        return "TensorFlow takes an error for the end of what it interleaves, groups, or keeps"
    wrapped = r"epoch .*: InternalError \(Got error code INVALID_ARGUMENT (.|\n)* expected, got InvalidArgumentError \("
    if re.match(wrapped, why) and re.search(r"(group_by_window|bucket_by_sequence_length)\(", text):
        return "TensorFlow makes an InternalError of an InvalidArgumentError in the function that reduces a window"
    if "row_splits_dtype=xp.int32" in text and ROW_SPLITS in why:
        return "TensorFlow's ragged_batch of matrices fails where row splits are to be int32"
    refused = "Incompatible shapes at component" in str(gold.get("epochs"))
    mixed = re.search("(choose_from_datasets|sample_from_datasets|rejection_resample)(.|\n)*concatenate", text)
    if why.startswith("epoch") and refused and mixed:
        return "TensorFlow takes elements of a fixed shape for scalars there"
    unsized = re.search(r"lambda(.|\n)*ragged_batch\(", text)
    if unsized and (_is_ragged_instead(why) or (_more_ragged(why) and _may_decide(lines, expected))):
        return "what a function returns has no known shape, so that it becomes ragged"
    early = re.match(r"building it: ValueError .*(padded shape|unbatch\(\)).*, got (no error|DataLossError)", why)
    if early and re.search(r"(map|interleave)\((.|\n)*(padded_batch|unbatch)", text):
        return "a function is not called when a dataset is built, so the shapes of its results are not known there"
    if why.startswith("epoch") and "values" in why and re.search(f"{RESHUFFLED}(.|\n)*rejection_resample", text):
        return "TensorFlow's rejection_resample reads one of its two inputs ahead, and takes seeds for it early"
    if why.startswith("building it: TypeError (Invalid `datasets`") and _resamples_single(lines, expected):
        return "TensorFlow's rejection_resample unwraps tuples of one component in one of two places"
    twice = re.search(r"(ragged|sparse)(.|\n)*batch\((.|\n)*batch\(", text)
    if "Cannot batch tensors with different shapes" in why and twice:
        return "TensorFlow cannot batch batches of ragged or sparse tensors that have different numbers of rows"
    if why.startswith("feedline alone") and "cache(tmp" in text and _refused(lines, why, expected):
        return "of two passes over one cache file, the second is refused unless the first one has ended by then"
    if re.match(r"epoch [1-9]", why) and _read_twice(lines, r"ds\.snapshot\("):
        return "of two passes that write one snapshot, the first to be complete is kept, in TensorFlow the last"
    if re.match(r"epoch \d.*: values", why) and _reshuffled_and_kept(lines) and _read_twice(lines, KEPT_IN_A_FILE):
        return "of two passes over one cache file, the second reads what the first has written; TensorFlow's writes it"
    if _read_ahead_of_a_cache(lines, why, got):
        return "parallel calls may have read a cache to its end, and so completed it, when they are left early"
    written = re.search(r"load\((.|\n)*ragged_batch|ragged(.|\n)*snapshot", text)
    if written and re.search("kind ragged expected, got arr|ragged.* expected, got .*tensor|got .*ragged", why):
        return "what has been written is known by its rows: by their sizes, and as ragged rows"
    sizes = re.fullmatch(r"spec: \S+: (\{.*\}) expected, got (\{.*\})", why)
    if sizes and _fewer_known(json.loads(sizes[1]), json.loads(sizes[2])) and _may_decide(lines, expected):
        return "a size in a function's results that strings, or unknown sizes, may decide on is not taken as fixed"
    return ""


def _resamples_single(lines: list[str], expected: Expected) -> bool:
    """Whether elements that are tuples of one component are resampled."""
    for i, line in enumerate(lines):
        if "rejection_resample(" in line:
            spec = expected(lines[:i]).get("spec")
            if isinstance(spec, dict) and spec.get("t") == "tuple" and len(spec["v"]) == 1:
                return True
    return False


def _refused(lines: list[str], why: str, expected: Expected) -> bool:
    """Whether a second pass over a cache file is refused while the first one writes it, here or where `ignore_errors`
    leaves out the error."""
    told = [line for line in lines if "ignore_errors" not in line]
    return "AlreadyExistsError" in why or (
        told != lines and "AlreadyExistsError" in _errors(*(expected(told).get("epochs") or ()))
    )


def _read_twice(lines: list[str], step: str) -> bool:
    """Whether a step after one that matches `step` has it twice among its inputs."""
    made = next((i for i, line in enumerate(lines) if re.search(step, line)), len(lines))
    return any(re.search(r"= .*\bds\b.*[(\[, ]ds\b", line) for line in lines[made + 1 :])


def _reshuffled_and_kept(lines: list[str]) -> bool:
    """Whether what is written to a cache file has another order in each pass."""
    kept = next((i for i, line in enumerate(lines) if re.search(KEPT_IN_A_FILE, line)), 0)
    return any(re.search(RESHUFFLED, line) for line in lines[:kept])


def _read_ahead_of_a_cache(lines: list[str], why: str, got: dict[str, Any]) -> bool:
    """Whether a later pass over an in-memory cache differs because parallel calls between it and a step that stops
    early, or the comparison, which has a limit of elements, may have read the whole cache in the first: then the later
    pass has the order of the first. Errors are never explained by this.
    """
    alone = r"feedline alone, (?:blocks of \d|threads|after a save, at \d+): "
    epoch = re.match(rf"(?:{alone})?epoch (\d), .*(values|instead of)", why)
    kept = next((i for i, line in enumerate(lines) if "ds.cache()" in line), len(lines))
    if epoch is None or (epoch[1] == "0" and not any("repeat(" in line for line in lines[kept:])):
        return False
    shuffled = any(re.search(RESHUFFLED, line) for line in lines[:kept])
    ahead = next((i for i, line in enumerate(lines) if i > kept and "num_parallel_calls" in line), len(lines))
    epochs = got.get("epochs") or ()
    left = any(re.search(r"(take|zip)\(", line) for line in lines[ahead + 1 :])
    left |= ahead < len(lines) and any(events[-1:] != ["end"] for events in epochs[:1])
    return shuffled and left and not _errors(*epochs)


def _repeats_nothing(lines: list[str], expected: Expected) -> bool:
    """Whether a dataset that TensorFlow knows to be empty is shuffled and repeated infinitely."""
    return any(
        re.search(r"shuffle_and_repeat\(\d+, seed", line) and expected(lines[:i]).get("cardinality") == 0
        for i, line in enumerate(lines)
    )


def _lost(lines: list[str], why: str, gold: dict[str, Any], got: dict[str, Any], expected: Expected) -> bool:
    """Whether feedline raised an error, there or earlier, that TensorFlow raises when it iterates the input of a
    window, but not after the window.
    """
    epoch, element = _where(why)
    raised = _errors(_events(got, epoch, element + 1)) - _errors(*gold["epochs"])
    return any(
        re.search(TAKES_FOR_THE_END, line) and raised & _errors(*(expected(lines[:i]).get("epochs") or ()))
        for i, line in enumerate(lines)
        if raised
    )


def _errors(*epochs: list[Any]) -> set[str]:
    """The classes of the errors of some epochs."""
    return {event["error"] for epoch in epochs for event in epoch if isinstance(event, dict) and "error" in event}


def _is_ragged_instead(why: str) -> bool:
    return bool(re.search(r'kind arr expected, got ragged|"kind": "tensor".* expected, got .*"kind": "ragged"', why))


def _more_ragged(why: str) -> bool:
    """Whether dimensions that are uniform in TensorFlow are ragged in feedline, with rows of one length."""
    specs = re.fullmatch(r"spec: \S+: (\{.*\}) expected, got (\{.*\})", why)
    if specs:
        expected, got = json.loads(specs[1]), json.loads(specs[2])
        ranks = expected.pop("ragged_rank", 0), got.pop("ragged_rank", 0)
        return ranks[0] < ranks[1] and _fewer_known(expected, got)
    splits = re.search(r"ragged splits (\[.*\]) expected, got (\[.*\])", why)
    if not splits:
        return False
    expected, got = json.loads(splits[1]), json.loads(splits[2])
    uniform = all(len({b - a for a, b in pairwise(some)}) <= 1 for some in got[len(expected) :])
    return got[: len(expected)] == expected and uniform


def _may_decide(lines: list[str], expected: Expected) -> bool:
    """Whether a function gets strings, ragged or sparse tensors, or dimensions of unknown size."""
    for i, line in enumerate(lines):
        if "lambda" not in line:
            continue
        first = not any(before.startswith("ds = ") for before in lines[:i])
        if (
            re.search(r"(TFRecordDataset|TextLineDataset)\(", line)
            if first
            else _is_open(expected(lines[:i]).get("spec"))
        ):
            return True
    return False


def _is_open(spec: Any) -> bool:
    if not isinstance(spec, dict) or spec.get("t") != "spec":
        inside = spec.get("v") if isinstance(spec, dict) else spec
        parts = inside.values() if isinstance(inside, dict) else inside if isinstance(inside, list) else ()
        return any(map(_is_open, parts))
    shape = spec.get("shape")
    return spec["kind"] != "tensor" or spec["dtype"] == "string" or shape is None or None in shape


def _fewer_known(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    """Whether two specs differ only in dimensions that are unknown in the second."""
    a, b = expected.pop("shape", None), got.pop("shape", None)
    same = expected == got and a is not None and b is not None and len(a) == len(b)
    return same and all(None in (x, y) or x == y for x, y in zip(a, b, strict=True))


def _error_before(why: str, gold: dict[str, Any]) -> bool:
    """Whether TensorFlow raised an error before the element that differs."""
    return bool(_errors(_events(gold, *_where(why))))


def _where(why: str) -> tuple[int, int]:
    """The numbers of the epoch and of the element that differ."""
    epoch, element = map(int, re.findall(r"\d+", why)[:2])
    return epoch, element


def _events(outcome: dict[str, Any], epoch: int, element: int) -> list[Any]:
    """The events before an element of an epoch, including earlier epochs."""
    epochs = outcome.get("epochs") or []
    return [event for events in epochs[:epoch] for event in events] + epochs[epoch][:element]
