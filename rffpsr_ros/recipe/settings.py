"""Every threshold of the recipe, each with its reason: what `RFFPSR()` decides by.

What users choose are the options, `RFFPSROptions`. Settings of what the recipe only makes use of
stand where that is - filling of gaps, fit of a single model - and are part of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rffpsr_ros.data.damage import DamageThresholds
from rffpsr_ros.data.gaps import GapFilling
from rffpsr_ros.data.subsample import SUBSAMPLE
from rffpsr_ros.models.option_checks import require, require_positive_numbers
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.recipe.slow.settings import RunningMeanSettings
from rffpsr_ros.recipe.state_spaces.settings import StateSpaceSettings

BLOCK_HORIZONS = 3
"""Blocks that models are judged on have at least so many times the ticks that are forecast."""

FAR_BLOCKS = 5
"""Very long simulations are at least so many times as long as a block."""

AT_LEAST_ONE = (
    "simulation_behind",
    "far_behind",
    "worth_choosing",
    "worth_refining",
    "near",
)
"""Settings that are factors above the best."""


@dataclass(frozen=True)
class RecipeSettings:
    """What the recipe decides by, in the order in which it does.

    Raises
    ------
    InputError
        If a number is not greater than 0, or one of `AT_LEAST_ONE` is less than 1.
    """

    # prepare

    damage: DamageThresholds = field(default_factory=DamageThresholds)
    """What in a recording is impossible by the scale of the others."""

    weights_per_tick: float = 0.25
    """An observation's weights in a linear term are at most so many for each tick that is recorded:
    a few thousand ticks cannot tell four thousand weights apart."""

    origins_kept: float = 0.5
    """Windows leave at least this share of the ticks from which a forecast could be learned."""

    scarce_iterations: int = 100
    """Steps of refinement where columns are too many for twenty ticks: each takes long, and soon
    they fit the noise."""

    gaps: GapFilling = field(default_factory=GapFilling)
    """Where hardly any window is complete, short gaps are filled."""

    folds: int = 3
    """Models, each with another part of the recordings held out, where the options name no
    number."""

    most_ticks: int = SUBSAMPLE
    """Of longer recordings a single model is learned: what a fold holds out hardly matters."""

    whole_from: int = 9
    """From so many recordings on, whole ones are held out; fewer are cut, if they are long
    enough."""

    rounds: int = 4
    """A long recording is cut so many times in a row, so that each part is like the rest."""

    block_ticks: int = 200
    """Held-out recordings are judged in blocks of so many ticks, each a group of its own; rounds
    leave parts that are not shorter."""

    few_ticks: int = 1000
    """Recordings of fewer ticks in all are few data: shorter windows are tried too, and judged on
    all folds."""

    fewest_ticks: int = 100
    """With fewer ticks than these there is nothing to judge by, and a single model is learned."""

    few_block_ticks: int = 60
    """`block_ticks` of few data: of a record that rings down each third is unlike the others, and
    so a model learned without one, but blocks in turn are alike."""

    few_windows: tuple[int, ...] = (8, 10)
    """Ticks of the shorter windows: a slow process of 200 ticks is forecast up to twice as well
    with these, a vibration of 600 is not."""

    few_folds: int = 2
    """Of data too few for three folds there are so many: blending with linear models needs errors
    on parts held out."""

    least_rank: int = 5
    """With fewer windows fewer directions are kept of them, but no fewer than these."""

    # candidates

    fit: FitSettings = field(default_factory=FitSettings)
    """How a single RFF-PSR is fitted."""

    short_features: int = 3
    """With short windows there are so many times as many random features: those of few variables
    resolve a nonlinear function that those of many cannot."""

    long_window: int = 10
    """Ticks of a NARX term that resolves what noise hides in the newest ones; it has as many
    features as that of short windows."""

    affine_windows: tuple[int, ...] = (2, 3, 6, 10)
    """Ticks of NARX terms that see observations only, beside that of the options; all are tried."""

    affine_features: int = 3
    """They have so many times as many random features."""

    affine_bandwidths: tuple[float, ...] = (0.5, 2.0)
    """So many times the options' bandwidth are tried with the window that does best. Wide features
    are nearly polynomials, which reach beyond the recordings where a robot is that smooth."""

    learned_longer: int = 2
    """Learned features of windows that are so many times as long are tried too: what can be learned
    of a longer window, drawn frequencies would hardly resolve."""

    learned_linear: tuple[int, ...] = (2, 4)
    """Where columns are so many that their ARX term leaves no room for learned features, these are
    learned beside one that is so many times as short, the longest that leaves room. A step costs
    the cube of the weights, of which the ARX term has as many as columns squared."""

    tries: int = 1
    """Of refinement in a trial: other configurations take the place of more careful tries of the
    same one."""

    subspace_past: int = 10
    """Ticks of the past in subspace identification's windows, at the most."""

    few_subspace: float = 0.5
    """Of few data, these windows hold at most so large a share of a column's ticks, for each column
    (`weights_per_tick` of more)."""

    simulation_windows: tuple[int, ...] = (2, 6)
    """Ticks of history in the windows of output-error models; all are tried."""

    simulation_patience: int = 2
    """After so many looser ridges without a better simulation error there is none."""

    simulation_behind: float = 2.0
    """Output-error models whose simulation error on the first fold is so many times the best
    candidate's are not learned on the others: of nine such all had weights below .04."""

    simulation_models: int = 3
    """Output-error models that are averaged, each with features of its own."""

    state_spaces: StateSpaceSettings = field(default_factory=StateSpaceSettings)
    """When nonlinear state spaces take part, and which are tried."""

    # slow actions

    running_means: RunningMeanSettings = field(default_factory=RunningMeanSettings)
    """When models see running means of the actions."""

    # select

    far_behind: float = 4.0
    """Of few data, learned features whose score on the first fold is so many times the best one's
    are not learned on the others, and drawn ones so far behind in one configuration only. Nor, of
    any data, are state spaces learned from a linear system so far behind the best one."""

    worth_choosing: float = 1.2
    """Of more data, drawn features are learned in the configuration that starts best on the first
    fold if they have so many times the best one's score there: they may steady the blend where a
    robot goes furthest, but tests erred no less with one that the second fold had a say in."""

    worth_refining: float = 1.2
    """Drawn features that start with so many times the score which learned ones have reached stay
    as they start: refinement rarely gains as much, and takes up to a quarter of all learning."""

    near: float = 1.6
    """Learned features whose score there is at most so many times that of drawn ones may still
    better the blend: led on with all recordings they err a quarter less."""

    hopeless: float = 25.0
    """What has so many times the other's score there is not learned on the other folds, either. A
    state space is learned no further if so much worse than a stage before."""

    close: float = 1.7
    """Scores on one fold that differ by less than this factor do not decide, unless it is the safe
    configuration that is better."""

    clearly_better: float = 0.9
    """What goes further than gentle steps with long windows must have a score so many times the
    safe one's: that is safer where a model is used otherwise than it was trained."""

    caught: float = 6.0
    """Learned features of which so many times the share of the starting score is left, beside the
    fold in the middle, were caught in a bad minimum, and are learned once more: with other seeds it
    differs by a factor of 1.5 or so, but of 152 descents two were caught, at 10 and 80 times."""

    # blend

    judged_blocks: int = 24
    """Blocks of a fold that are judged, at the most."""

    settling: float = 0.25
    """Models settle for as many ticks as their past has before they are judged, but for no more
    than this fraction of a block; simulations begin there at the latest."""

    limit_margin: float = 0.5
    """How far beyond the range of the recordings forecasts are accepted, as a fraction of it."""

    neighbour: float = 0.5
    """How much the errors at the horizons beside one count in its weights: a guard against
    chance."""

    shrinkage: float = 0.01
    """Pull towards equal weights, relative to the best candidate's error: a hopeless candidate
    among them must not make it strong."""

    group_share: float = 0.2
    """So large a share of the squared errors that weights minimise is a single group's at the most,
    where there are others: one recording that nothing can forecast must not decide."""

    worth_leaving_out: float = 0.95
    """With fewer candidates a blend's score must be so many times as large at the most."""

    least_weight: float = 0.1
    """A candidate that nowhere has a larger weight is left out: live it costs as much as any, and
    on 20 development draws of all kinds tests did not miss it."""

    reach: float = 4.0
    """A member is held back where its forecast lies so many times as far outside of all the others
    as it did on held-out parts, by the root mean square."""

    simulated_ticks: int = 100
    """Only where recordings have so many ticks is anything learned for longer horizons."""

    few_simulated_ticks: int = 200
    """`simulated_ticks` of few data: on records of 180 what shorter ones tell misleads as often as
    it helps, up to 1.1 times the error."""

    long_block_ticks: int = 100
    """Simulations are judged on blocks of so many ticks, or more: recordings of 300 leave them.
    Output-error models, which learn from whole simulations, are tried where all have
    `block_ticks`."""

    long_blocks: int = 4
    """Blocks of a fold that simulations are judged on, at the most."""

    long_origins: int = 8
    """Simulations of a block, about."""

    far_ticks: int = 1000
    """Held-out recordings of so many ticks are simulated whole, too: what drifts, drifts slowly."""

    most_far_ticks: int = 3000
    """Of longer ones so many are: candidates' simulations take a second for some thousands."""

    simulated_beyond: int = 150
    """From so many ticks on, weights are those of the longer simulations: the shorter ones reach so
    far."""

    large_weight: float = 0.25
    """With a smaller weight beyond the horizon than this, a single output-error model is
    enough."""

    # models of everything

    led_steps: int = 50
    """Steps in which learned features are led on with all recordings, at the most; the fewer, the
    more parameters there are for each value, up to `FeatureLearningOptions.plenty`."""

    led_patience: int = 5
    """After so many without a better score of these it is enough."""

    led_penalty: float = 1e-4
    """As in `FeatureLearningOptions.penalties`."""

    # free observations

    free_windows: int = 150
    """Windows of each fold that are moved, evenly spread over what it holds out."""

    free_remains: float = 1e-3
    """Of such a move forecasts lack so large a share, in squares: positions 5e-5, noise .007."""

    free_within: float = 1.25
    """So many times are they off as before, in squares: positions 1.03 to 1.14, on a spring 2."""

    # learn more

    more_iterations: int = 30
    """Steps of refinement when learning goes on: it starts from where the last one ended."""

    more_check_every: int = 10
    """Of these, from one score to the next; where the first finds nothing better, it ends."""

    more_feature_steps: int = 100
    """Steps in which learned features learn on, times the share that new ticks have of all."""

    more_feature_penalty: float = 1e-4
    """As in `FeatureLearningOptions.penalties`."""

    more_feature_patience: int = 10
    """As there."""

    more_judged_blocks: int = 12
    """Blocks that a model which learns on is judged by, of what it holds out."""

    def __post_init__(self) -> None:
        """Check that numbers are positive, and that the best is as good as itself."""
        require_positive_numbers(self)
        for name in AT_LEAST_ONE:
            require(name, getattr(self, name), lambda v: v >= 1, "at least 1")

    def are_few(self, ticks: int) -> bool:
        """Return whether recordings of so many ticks in all are few data."""
        return ticks < self.few_ticks

    def leading_on(self) -> RecipeSettings:
        """Return the settings where learned features may be led on later, with all recordings."""
        features = replace(self.fit.features, led_later=True)
        return replace(self, fit=replace(self.fit, features=features))

    def following(self, few: bool, horizon: int) -> RecipeSettings:
        """Return the settings that are meant for few data, or for others, and such a horizon.

        What judges forecasts and simulations is longer where models look further ahead.
        """
        block = max(self.few_block_ticks if few else self.block_ticks, BLOCK_HORIZONS * horizon)
        beyond = max(self.simulated_beyond, int((1 - self.settling) * block))
        far = max(self.far_ticks, FAR_BLOCKS * block)
        most = max(self.most_far_ticks, far)
        simulated = max(self.simulated_ticks, self.few_simulated_ticks if few else 0)
        return replace(
            self,
            block_ticks=block,
            simulated_ticks=simulated,
            long_block_ticks=min(max(self.long_block_ticks, BLOCK_HORIZONS * horizon), block),
            simulated_beyond=beyond,
            far_ticks=far,
            most_far_ticks=most,
        )
