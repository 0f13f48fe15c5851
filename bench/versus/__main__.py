"""The command line: `python -m bench.versus run|report|publish`, or `make versus`."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from bench.versus import tables
from bench.versus.data import SIZES
from bench.versus.environments import FOLDER, PEERS, ROOT, Interpreters
from bench.versus.runner import Settings, run
from bench.versus.works import WORKS

SECONDS = {"tiny": 0.2, "small": 2.0, "real": 6.0}


def names(text: str, known: list[str], what: str) -> list[str]:
    """A comma-separated list of known names; all of them if it is empty."""
    chosen = [name for name in text.split(",") if name] or known
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"unknown {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


def default_cores() -> str:
    """One core, and all of them."""
    count = len(os.sched_getaffinity(0))
    return "1" if count == 1 else f"1,{count}"


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(prog="python -m bench.versus", description=__doc__)
    verbs = made.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run", help="measure, and write results, tables and charts")
    verb.add_argument("--work", default="", help=f"comma-separated; of {', '.join(WORKS)}")
    verb.add_argument("--peers", default="", help=f"comma-separated, beside feedline; of {', '.join(PEERS)}")
    verb.add_argument("--only-peers", action="store_true", help="only --peers, without feedline and limit")
    verb.add_argument("--cores", default=default_cores(), help="comma-separated numbers of cores")
    verb.add_argument("--rounds", type=int, default=1)
    verb.add_argument("--size", choices=SIZES, default="small")
    verb.add_argument("--seconds", type=float, help="how long each measurement counts")
    verb.add_argument("--limit", type=float, default=120.0, help="seconds after which a measurement is ended")
    verb.add_argument("--append", action="store_true", help="add to the results that are there")
    verb.add_argument("--no-install", action="store_true", help="leave out peers whose environment is not there")
    folder = os.environ.get("FEEDLINE_VERSUS_DATA", str(FOLDER / "data"))
    verb.add_argument("--data", default=folder, help="where the data is; default: $FEEDLINE_VERSUS_DATA or %(default)s")
    report = verbs.add_parser("report", help="tables and charts of results that are there")
    publish = verbs.add_parser("publish", help="put the results into README.md and docs/versus.md")
    for each in (verb, report, publish):
        each.add_argument("--out", default=str(FOLDER / "results"), help="the folder of results")
        each.add_argument(
            "--python", action="append", default=[], metavar="NAME=PATH", help="the interpreter of a peer, or of `plot`"
        )
    return made


def interpreters(args: argparse.Namespace) -> Interpreters:
    """The interpreters that the arguments give, and the others."""
    given = dict(pair.partition("=")[::2] for pair in args.python)
    environments = {peer.environment for peer in PEERS.values()} | {"plot"}
    names(",".join(given) or "plot", [*PEERS, *environments - PEERS.keys()], "interpreter")
    return Interpreters(given, not getattr(args, "no_install", False))


def main() -> None:
    """Runs the command."""
    args = parser().parse_args()
    out = Path(args.out).absolute()
    if args.verb == "run":
        peers = names(args.peers, list(PEERS), "peers")
        if not args.only_peers:
            peers = list(dict.fromkeys(["feedline", "limit", *peers]))
        works = [WORKS[name][0] for name in names(args.work, list(WORKS), "work")]
        cores = sorted(int(count) for count in args.cores.split(","))
        seconds = SECONDS[args.size] if args.seconds is None else args.seconds
        data = Path(args.data).absolute() / args.size
        settings = Settings(works, peers, cores, args.rounds, args.size, seconds, args.limit, data, out)
        run(settings, interpreters(args), args.append)
    if args.verb == "publish":
        tables.publish(out)
        return
    tables.write(out)
    python = interpreters(args).environment("plot")
    if python is None:
        print("no charts: no environment `plot`")
    else:
        command = [python, "-m", "bench.versus.charts", str(out)]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    print(f"results, tables and charts: {out}")


if __name__ == "__main__":
    main()
