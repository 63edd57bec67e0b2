"""Who competes: configurations of RFF-PSR, and baselines.

Each kind is learned on every fold, so that it can be judged by what it has not learned from, and
once more with nothing held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.rff_psr.options import LearnedUnits, RFFPSROptions
from rffpsr_ros.parallel.workers import THIS_PROCESS, Pending, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.refinement.learning_effort import affordable
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings

SAFE = "regularised"
"""The configuration that others with drawn features have to beat."""


class Family(NamedTuple):
    """Configurations of RFF-PSR of which one is selected, for a place of its own in the blend."""

    name: str
    configurations: Mapping[str, RFFPSROptions]
    safe: str
    """The configuration that the others have to beat."""
    quick_start: bool = True
    """Whether what refinement starts from comes of regressions alone."""
    by_start: bool = False
    """Whether the best of these starts is selected: refinement is alike for all."""
    bandwidths: tuple[float, ...] = ()
    """Other bandwidths with which the configuration of the best start is compared in turn."""
    costly: bool = False
    """Whether it has to be clearly better than the others: live, each model of it costs."""

    @property
    def safe_options(self) -> RFFPSROptions:
        """Return the options of the safe configuration."""
        return self.configurations[self.safe]

    def only(self, name: str) -> Family:
        """Return the family with a single configuration."""
        configurations = {name: self.configurations[name]}
        return self._replace(configurations=configurations, safe=name, bandwidths=())

    def with_windows_of(self, options: RFFPSROptions) -> Family:
        """Return the family with windows as long as those of options of another one."""
        same = (
            name for name, one in self.configurations.items() if one.narx_past == options.narx_past
        )
        return self.only(next(same, self.safe))

    def as_started(self, name: str) -> Family:
        """Return the family with a single configuration, which is not refined."""
        only = self.only(name)
        options = replace(self.configurations[name], iterations=0)
        return only._replace(configurations={name: options})

    def varied(self, name: str) -> Family:
        """Return the family of a configuration and those that differ from it in bandwidth."""
        options = self.configurations[name]
        others = {
            f"{name}, bandwidth {one:g}": replace(options, narx_bandwidth=one)
            for one in self.bandwidths
        }
        return self._replace(configurations={name: options, **others}, safe=name, bandwidths=())


class Candidate(NamedTuple):
    """Models of one kind, which share an ensemble weight."""

    name: str
    members: Sequence[PredictiveModel[Any]]
    """Who forecasts in the ensemble."""
    by_fold: Sequence[PredictiveModel[Any]]
    """Who is judged: each has not learned from what its fold holds out."""


def families(
    options: RFFPSROptions, settings: RecipeSettings, columns: int, acted: int
) -> list[Family]:
    """Return the families for so many observations and actions.

    The NARX term's features are drawn, of observations and actions or, where the options have that
    tried, of observations only; and, where they have that tried and a step of it costs no more than
    it may, learned, as waves and as sigmoids. Drawn ones are the surer where a robot goes beyond
    what it was learned from, learned ones by far the more exact within. Of so many columns that a
    step would cost more, live use of several families would, too: there drawn ones are
    configurations of one, of which the one that starts best is refined, and sigmoids alone are
    learned, beside a shorter ARX term, to be kept if they are clearly better.
    """
    drawn = configurations(options, settings)
    safest = SAFE if SAFE in drawn else next(iter(drawn))
    terms = options.arx_past and options.narx_past and options.narx_features
    if not terms or len(drawn) == 1:
        return [Family("rff_psr", drawn, safest)]
    affine = [_affine(drawn[safest], settings)] if options.narx_affine == "auto" else []
    learned = _learned(drawn[safest], settings, columns, acted)
    if not learned:
        for family in affine:
            drawn |= family.only(family.safe).configurations
        affine, learned = [], _learned_beside_less(drawn[safest], settings, columns, acted)
    steps = settings.fit.features.within(options.iterations).steps
    wanted = learned if options.narx_learning == "auto" and steps else []
    costly = any(one.costly for one in learned)
    return [Family("rff_psr", drawn, safest, by_start=costly), *affine, *wanted]


def _learned(
    safe: RFFPSROptions, settings: RecipeSettings, columns: int, acted: int
) -> list[Family]:
    """Return the families whose features are learned, and cost no more than they may."""
    kinds: tuple[LearnedUnits, ...] = (safe.narx_units,)
    if safe.narx_units == "auto":
        kinds = "sigmoids", "waves"  # those that are fewer decide how far windows reach
    found = []
    for kind in kinds:
        name = f"learned {kind}"
        learned = replace(safe, narx_learning="on", narx_units=kind)
        longer = replace(learned, narx_past=settings.learned_longer * safe.narx_past)
        effort = settings.fit.features.of(kind).within(safe.iterations)
        offered = {
            name: one
            for name, one in {name: learned, f"{name}, longer": longer}.items()
            if affordable(effort, one.arx_past, one.narx_past, columns, acted)
        }
        if name in offered:
            found.append(Family(f"rff_psr, {name}", offered, name, quick_start=False))
    return found


def _learned_beside_less(
    safe: RFFPSROptions, settings: RecipeSettings, columns: int, acted: int
) -> list[Family]:
    """Return the family that is learned beside a shorter ARX term, none if that leaves no room."""
    units: LearnedUnits = "sigmoids" if safe.narx_units == "auto" else safe.narx_units
    for share in settings.learned_linear:
        past = max(safe.narx_past, safe.arx_past // share)
        shorter = replace(safe, narx_units=units, arx_past=past)
        if found := _learned(shorter, settings, columns, acted):
            return [family._replace(costly=True) for family in found]
    return []


def _affine(safe: RFFPSROptions, settings: RecipeSettings) -> Family:
    """Return the family that is affine in actions, with windows of several lengths."""
    features = settings.affine_features * safe.narx_features
    affine = replace(safe, narx_affine="on", narx_features=features)
    lengths = {past for past in settings.affine_windows if past <= safe.arx_past}
    offered = {"affine": affine} | {
        f"affine, {past}": replace(affine, narx_past=past)
        for past in sorted(lengths - {safe.narx_past})
    }
    bandwidths = tuple(factor * safe.narx_bandwidth for factor in settings.affine_bandwidths)
    return Family("rff_psr, affine", offered, "affine", by_start=True, bandwidths=bandwidths)


def configurations(options: RFFPSROptions, settings: RecipeSettings) -> dict[str, RFFPSROptions]:
    """Return the configurations with drawn features by name; one, if the options leave no choice.

    Refinement starts from regressions whose ridges did best, with gentle steps, or from lightly
    regularised ones, with full steps; ARX and NARX term have short windows, or the NARX term a long
    one.
    """
    if options.refinement != "rollout" or options.refine_from != "both":
        return {"as given": options}
    learning, affine = (
        "off" if choice == "auto" else choice
        for choice in (options.narx_learning, options.narx_affine)
    )
    drawn = replace(options, narx_learning=learning, narx_affine=affine)
    safe = replace(drawn, refine_from="regularised")
    found = {SAFE: safe, "light": replace(safe, refine_from="light")}
    if not (options.arx_past and options.narx_features):
        return found
    more = replace(safe, narx_features=settings.short_features * options.narx_features)
    if options.short_past:
        past = options.short_past
        found["short"] = replace(more, arx_past=past, narx_past=past)
    long = min(settings.long_window, options.arx_past)
    if options.narx_past < long:
        found["long"] = replace(more, narx_past=long)
    return found


def baselines(
    prepared: Preparation, settings: RecipeSettings, workers: Workers = THIS_PROCESS
) -> list[Pending[Candidate | None]]:
    """Have the baselines learned; none where the model itself is to have no ARX term.

    Two are linear; the third knows nothing of the robot, and is hard to beat where it hardly moves.
    The mean is none: where a test drives a robot further than training did, it misleads.
    """
    if not prepared.options.arx_past:
        return []
    kinds = _linear_arx, partial(_n4sid, settings=settings), _last_observation
    return [workers.submit(_Baseline(kind, prepared), silent, urgency=2) for kind in kinds]


@dataclass(frozen=True)
class _Baseline:
    """The task of a baseline; nothing comes of it where recordings or folds do not suit it.

    They have too many gaps, or are too short.
    """

    kind: Callable[[Preparation], Candidate | None]
    prepared: Preparation

    def __call__(self, progress: Progress) -> Candidate | None:
        del progress
        try:
            return self.kind(self.prepared)
        except InputError:
            return None


def _linear_arx(prepared: Preparation) -> Candidate:
    options = prepared.options
    model = LinearARX(options.arx_past, options.rollout_horizon).fit(prepared.recordings)
    past, ridge = (model.record.options[name] for name in ("past", "ridge"))
    return _baseline("linear_arx", model, LinearARX(past, options.rollout_horizon, ridge), prepared)


def _n4sid(prepared: Preparation, settings: RecipeSettings) -> Candidate | None:
    """Return subspace identification's; None where its windows are large beside the recordings."""
    options, like = prepared.options, prepared.recordings[0]
    past, future = min(options.arx_past, settings.subspace_past), options.future
    columns = len(like.observation_names) + len(like.action_names)
    ticks = sum(map(len, prepared.recordings))
    share = settings.few_subspace if settings.are_few(ticks) else settings.weights_per_tick
    if (past + future) * columns > share * ticks:
        return None
    model = N4SID(past, future).fit(prepared.recordings)
    return _baseline("n4sid", model, N4SID(past, future, model.record.options["order"]), prepared)


def _last_observation(prepared: Preparation) -> Candidate:
    learner = LastObservation()
    return _baseline("last_observation", learner.fit(prepared.recordings), learner, prepared)


def _baseline(
    name: str, model: PredictiveModel[Any], learner: Learner, prepared: Preparation
) -> Candidate:
    """Return a model of all recordings beside those that the learner makes of the folds.

    Order, or ridge and window, chosen once on all recordings by folds of the learner's own, stay as
    they are: one or two numbers give away next to nothing of a part held out, and choosing takes
    most of the time.
    """
    return Candidate(name, [model], [learner.fit(fold.train) for fold in prepared.folds])
