"""What somebody might type, by a name for it; @ stands for a command's usual words."""

from __future__ import annotations

import os

ODD_NAMES = {
    "not UTF-8": os.fsdecode(b"a\xff\xfe"),
    "a line break": "a\nb",
    "an escape": "a\x1b[2J\x1b]0;x\x07",
    "a return": "a\rb",
    "written backwards": "a\u202eb",
    "300 letters": "n" * 300,
    "100 000 letters": "n" * 100_000,
    "an open bracket": "[a",
    "two stars": "**",
    "a dash": "-",
    "nothing": "",
    "a space": " ",
    "a link to itself": "loop",
    "a pipe": "pipe",
    "/dev/null": "/dev/null",
    "/dev/full": "/dev/full",
    "/proc": "/proc/self/nothing",
    "here": ".",
    "an emoji": "\U0001f916",
}
"""Names of files, of which some cannot be and some are better left alone."""

USUAL = {
    "inspect": ["inspect", "bag", "--quiet"],
    "check": ["check", "bag", "--config", "c.yaml", "--quiet"],
    "train": ["train", "bag", "--config", "c.yaml", "--out", "new.psr", "--no-check", "QUICK"],
    "evaluate": ["evaluate", "bag", "--model", "m.psr", "--quiet"],
    "predict": ["predict", "bag", "--model", "m.psr", "--out", "new.csv", "--quiet"],
    "info": ["info", "m.psr"],
    "csv2bag": ["csv2bag", "table.csv", "--out", "new", "--quiet"],
    "completion": ["completion", "bash"],
}
"""Words of every command that are in order."""

PLACES = {
    "a bag of inspect": ["inspect", "NAME", "--quiet"],
    "a bag of check": ["check", "NAME", "--config", "c.yaml", "--quiet"],
    "a configuration": ["check", "bag", "--config", "NAME", "--quiet"],
    "a configuration to write": ["inspect", "bag", "--write-config", "NAME", "--quiet"],
    "a plot of check": ["check", "bag", "--config", "c.yaml", "--plot", "NAME", "--quiet"],
    "a model": ["info", "NAME"],
    "a model of evaluate": ["evaluate", "bag", "--model", "NAME", "--quiet"],
    "a model beside": ["evaluate", "bag", "--model", "m.psr", "--beside", "NAME", "--quiet"],
    "a plot": ["evaluate", "bag", "--model", "m.psr", "--plot", "NAME", "--quiet"],
    "a training bag": ["evaluate", "bag", "--model", "m.psr", "--train", "NAME", "--quiet"],
    "a model to write": ["train", "bag", "--config", "c.yaml", "--out", "NAME", "QUICK"],
    "a validation bag": [*USUAL["train"], "--validation", "NAME"],
    "a bag of predict": ["predict", "NAME", "--model", "m.psr", "--out", "new.csv", "--quiet"],
    "forecasts to write": ["predict", "bag", "--model", "m.psr", "--out", "NAME", "--quiet"],
    "a table": ["csv2bag", "NAME", "--out", "new", "--quiet"],
    "a bag to make": ["csv2bag", "table.csv", "--out", "NAME", "--quiet"],
    "a folder of definitions": ["inspect", "bag", "--msg-path", "NAME", "--quiet"],
    "a distribution": ["inspect", "bag", "--ros-distro", "NAME", "--quiet"],
    "a command": ["NAME"],
    "an option": ["info", "m.psr", "--NAME"],
    "a kind": [*USUAL["train"], "--model", "NAME"],
    "a shell": ["completion", "NAME"],
    "a column": [*USUAL["csv2bag"], "--time", "NAME"],
    "a topic of csv2bag": [*USUAL["csv2bag"], "--topic", "NAME=angle"],
    "a column of csv2bag": [*USUAL["csv2bag"], "--topic", "/a=NAME"],
    "an observation": [*USUAL["inspect"], "--observation", "NAME"],
    "a field": [*USUAL["inspect"], "--observation", "/arm:NAME"],
    "a key": [*USUAL["check"], "--set", "NAME=1"],
    "an option of learning": [*USUAL["train"], "--set", "learning.NAME=1"],
    "a value": [*USUAL["train"], "--set", "learning.past=NAME"],
    "a split": [*USUAL["train"], "--split", "NAME"],
    "a scheduler": [*USUAL["train"], "--scheduler", "NAME"],
}
"""Words with a place for a name."""

WAITING = ("a configuration", "a table", "a model", "a model of evaluate", "a model beside")
"""Places at which a pipe may stand: whoever names one waits for who writes into it."""

WRONG_FILES = {
    "a text": "text.txt",
    "bytes": "binary",
    "nothing": "nothing",
    "an empty folder": "empty",
    "a table": "table.csv",
    "a configuration": "c.yaml",
    "a bag": "bag",
    "a model": "m.psr",
    "below a file": "text.txt/x",
    "below nothing": "none/x",
    "a folder with a slash": "empty/",
}
"""Files that are there, at whichever place."""

NUMBERS = (
    *("0", "-1", "1e3", "nan", "inf", "-inf", "", " ", "1.5", "0x10", "\u0663", "1_000", "--"),
    *("9" * 18, "9" * 20, "9" * 5000, "1e-320", "2147483648", "4294967296"),
)

NUMERIC = {
    "predict --horizon": [*USUAL["predict"], "--horizon"],
    "predict --lead": [*USUAL["predict"], "--lead"],
    "predict --every": [*USUAL["predict"], "--every"],
    "predict --coverage": [*USUAL["predict"], "--coverage"],
    "evaluate --horizon": [*USUAL["evaluate"], "--horizon"],
    "evaluate --start": [*USUAL["evaluate"], "--start"],
    "evaluate --coverage": [*USUAL["evaluate"], "--coverage"],
    "train --seed": [*USUAL["train"], "--seed"],
    "train --split": [*USUAL["train"], "--split"],
}

SETTINGS = (
    *("", "=", "=1", ".=1", "a..b=1", "learning=3", "learning=[1]", "learning.=1", "rate"),
    *("rate.x=1", "observation=null", "observation.inputs=[]", "observation.inputs=arm"),
    *("observation.arm.fields=3", "observation.arm.fields=[[[]]]", "observation.arm.topic=[1]"),
    *("observation.arm.type=no", "observation.arm={}", "action.motor.units=[a, b, c]"),
    *("learning.past={a: 1}", "learning.past=[1, 2]", "learning.past=true", "learning.past=1e999"),
    *("learning.past=.nan", "learning.past=-1", "learning.past=0", "learning.past=100000000000"),
    *("learning.rank=-5", "learning.rank=1.5", "learning.rank=9999999999", "learning.rank=x"),
    *("learning.features=0", "learning.features=999999999999", "learning.features=.inf"),
    *("learning.seed=-1", "learning.seed=1.5", "learning.seed=abc", "learning.iterations=-1"),
    *("learning.ridge=.nan", "learning.ridge=-1", "learning.ridge=1e308", "learning.ridge=0"),
    *("learning.future=0", "learning.future=1000000", "learning.folds=-1", "learning.folds=1000"),
    *("learning.minibatches=0", "learning.minibatches=1e9", "learning.past.deep.er=1"),
    *("learning.learning.past=1", "learning.kind=hse_psr", "learning.past=!!python/name:os.x"),
    *("learning.past=&a [*a]", "learning.past={", "learning.past='", "learning.past=\x00", "a=\t"),
    *("max_gap=.nan", "max_gap=-1", "rate=0", "rate=.nan", "rate=1e-320", "rate=1e300", "rate=[]"),
    *("stamps=no", "dataset.split=[1]", "dataset=3", "learning.1=2", "learning.past=2026-99-99"),
    *("learning." + "x" * 50_000 + "=1", "." * 5000 + "=1", "a." * 3000 + "b=1"),
    *("rate=" + "9" * 70_000, "rate=" + "[" * 5000, "observation.arm.fields=['" + "(" * 999 + "']"),
)
"""Arguments of --set, for `train` and for `check`."""

SPLITS = (
    *("1", "1,1,1", "0,0,0", "0,0,1", "1,0,0", "a,b,c", ",,", "0.5,0.5", "0.5,0.25,0.25,0"),
    *("-1,1,1", "nan,nan,nan", "inf,0,0", "0.7,0.1,0.3", "1e-300,0,1", "70%,10%,20%", "0.99,0,.01"),
    "0.1," * 9999,
)

BY_HAND: dict[str, list[str]] = {
    "no words": [],
    "an empty word": [""],
    "--help": ["--help"],
    "--version and more": ["--version", "x"],
    "--version twice": ["--version", "--version"],
    "help of no command": ["help"],
    "-- alone": ["--"],
    "two commands": ["info", "info", "m.psr"],
    "an option without its value": ["train", "bag", "--config"],
    "an option twice": [*USUAL["predict"], "--model", "m.psr", "--horizon", "1", "--horizon", "2"],
    "--json twice": ["info", "m.psr", "--json", "--json"],
    "a flag with a value": ["info", "m.psr", "--json=yes"],
    "an option of one dash": ["info", "m.psr", "-json"],
    "an abbreviated option": [*USUAL["evaluate"], "--horiz", "3"],
    "ten thousand unknown words": ["info", *["x"] * 10_000],
    "ten thousand bags": ["inspect", *["bag"] * 10_000, "--quiet"],
    "a response file": ["info", "@text.txt"],
    "the same bag twice": ["inspect", "bag", "bag", "--quiet"],
    "the same bag by two names": ["inspect", "bag", "./bag/../bag", "--quiet"],
    "trained on the same bag twice": ["train", "bag", *USUAL["train"][1:]],
    "validated on what it learns from": [*USUAL["train"], "--validation", "bag"],
    "judged beside itself": [*USUAL["evaluate"], "--beside", "m.psr", "m.psr"],
    "a split and a validation": [*USUAL["train"], "--validation", "bag", "--split", "8,1,1"],
    "resumed from another's model": [*USUAL["train"][:5], "m.psr", "QUICK", "--resume"],
    "resumed from no model": [*USUAL["train"][:5], "text.txt", "QUICK", "--resume"],
    "a model over a text": [*USUAL["train"][:5], "text.txt", "--no-check", "QUICK"],
    "a model over the configuration": [*USUAL["train"][:5], "c.yaml", "--no-check", "QUICK"],
    "a model over a bag": [*USUAL["train"][:5], "bag", "QUICK"],
    "a model into a bag": [*USUAL["train"][:5], "bag/metadata.yaml", "--no-check", "QUICK"],
    "forecasts over the bag": ["predict", "bag", "--model", "m.psr", "--out", "bag", "--quiet"],
    "forecasts over a folder": ["predict", "bag", "--model", "m.psr", "--out", "a.csv/", "--quiet"],
    "a lead beyond the horizon": [*USUAL["predict"], "--lead", "11"],
    "a horizon beyond the bag": [*USUAL["predict"], "--horizon", "1000"],
    "a plot of no kind": [*USUAL["evaluate"], "--plot", "a.xyz"],
    "a plot without an ending": [*USUAL["check"], "--plot", "plot"],
    "a plot over a bag": [*USUAL["evaluate"], "--plot-forecast", "bag"],
    "a start beyond the bag": [*USUAL["evaluate"], "--start", "100000"],
    "a scheduler of no kind": [*USUAL["train"], "--scheduler", "ftp://x"],
    "one topic twice": [*USUAL["csv2bag"], "--topic", "/a=angle", "--topic", "/a=voltage"],
    "one column twice": [*USUAL["csv2bag"], "--topic", "/a=angle,angle"],
    "a topic of a thousand slashes": [*USUAL["csv2bag"], "--topic", "/" * 1000 + "a=angle"],
    "a topic with spaces": [*USUAL["csv2bag"], "--topic", "a b=angle"],
    "time that is no time": [*USUAL["csv2bag"], "--time", "voltage"],
    "an observation that is a command": [
        *(*USUAL["inspect"], "--observation", "/arm", "--action", "/arm")
    ],
    "an observation twice": [*USUAL["inspect"], "--observation", "/arm", "--observation", "/arm"],
    "a choice without a topic": [*USUAL["inspect"], "--observation", ":position"],
    "a choice without an end": [*USUAL["inspect"], "--action", "/arm:" + "position," * 5000],
    "a configuration over the bag": [*USUAL["inspect"], "--write-config", "bag/metadata.yaml"],
    "model hse_psr": [*USUAL["train"], "--model", "hse_psr"],
    "model io_hmm": [*USUAL["train"], "--model", "io_hmm"],
    "model kalman with a seed": [*USUAL["train"], "--model", "kalman", "--seed", "-1"],
}
"""The others, whole."""
