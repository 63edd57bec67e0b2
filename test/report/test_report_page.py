"""The report: whole, without network, escaped, and with the figures of the evaluation."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.report.page import EVALUATION
from rffpsr_ros.report.write import report_page, write_report
from rffpsr_ros.training.judgement import Judgement, Judging, judge
from rffpsr_ros.training.recordings import Split

SECTIONS = ["errors", "forecasts", "bands", "residuals", "data", "recipe", "responses", "reproduce"]
EMPTY = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """What a browser would make of a page, as far as tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._kept = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)
        self._kept = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self._kept] = self.texts.get(self._kept, "") + data

    def of(self, tag: str, kind: str = "") -> Iterator[dict[str, str | None]]:
        for name, attributes in self.elements:
            if name == tag and kind in (attributes.get("class") or "").split(" "):
                yield attributes

    @property
    def evaluation(self) -> Any:
        return json.loads(self.texts[EVALUATION])


def runs(count: int, names: list[str], gaps: float = 0.0) -> list[Trajectory]:
    made = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        actions = generator.normal(size=(260, 2))
        observations = np.zeros((260, len(names)))
        for tick in range(1, 260):
            observations[tick] = 0.8 * observations[tick - 1] + actions[tick, tick % 2]
        observations += 0.1 * generator.normal(size=observations.shape)
        observations[generator.random(observations.shape) < gaps] = np.nan
        made.append(Trajectory(observations, actions, 0.05, names, ["u", "v"], f"run {seed}"))
    return made


def judged(names: list[str], gaps: float = 0.0, bands: bool = True) -> Judgement:
    train, test = runs(5, names, gaps)[:3], runs(5, names, gaps)[3:]
    model = LinearARX(past=3, future=5).fit(train)
    if bands:
        missed = np.concatenate([errors_by_origin(model, run, 5, 9) for run in train])
        model = model.replaced(bands=conformal_bands(missed))
    options = Judging(horizon=5)
    return judge(
        model, "some/arx.model", Split([], [], test), options,
        {"last_observation": LastObservation().fit(train)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    return judged(["x", "y"], gaps=0.02)


@pytest.fixture(scope="module")
def page(judgement: Judgement) -> Page:
    return Page(report_page(judgement))


def test_it_is_whole_and_begins_with_the_verdict(page: Page, judgement: Judgement) -> None:
    assert page.open == []
    assert [one["id"] for one in page.of("section")] == SECTIONS
    tags = [tag for tag, _ in page.elements]
    card = next(
        i for i, (_, one) in enumerate(page.elements) if "verdict" in (one.get("class") or "")
    )
    assert card < tags.index("section")
    assert all(sentence in page.texts["p"] for sentence in judgement.verdict.sentences)
    assert [one["href"] for one in page.of("a")] == [f"#{key}" for key in SECTIONS]


def test_it_asks_nobody_for_anything(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "action", "data", "srcset", "xlink:href"):
            told = attributes.get(name) or "#"
            assert told.startswith("#") or told == "data:,", (tag, name, told)
    rest = page.texts["style"] + page.texts["script"]
    for word in ("http", "@import", "url(", "fetch", "XMLHttpRequest", "import(", "WebSocket"):
        assert word not in rest


def test_every_figure_is_that_of_the_evaluation(page: Page, judgement: Judgement) -> None:
    told = page.evaluation
    assert told == json.loads(json.dumps(judgement.as_json()))
    checked = 0
    for cell in page.of("td", "number"):
        if cell.get("data-path"):
            value = told
            for key in json.loads(cell["data-path"] or ""):
                value = value[key]
            assert json.loads(cell["data-value"] or "") == value
            checked += 1
    # models x (sum + 2 x 3) and 3 x 3 + 2 of the pair, 2 x 2 of bands, each at 5 horizons
    assert checked == 5 * (2 * 7 + 11 + 4)


def test_curves_are_those_figures(page: Page, judgement: Judgement) -> None:
    charts = [json.loads(one["data-chart"] or "") for one in page.of("figure", "chart")]
    errors = judgement.comparison.errors
    (x,) = (one for one in charts[1:2])
    assert [one["name"] for one in x["series"]] == list(errors)
    for curve, one in zip(x["series"], errors.values(), strict=True):
        np.testing.assert_allclose(curve["y"], one.rmse[:, 0], rtol=1e-3)
    ratio = judgement.verdict.paired
    assert ratio is not None
    np.testing.assert_allclose(charts[0]["series"][0]["y"], ratio.by_horizon.value, rtol=1e-3)


def test_every_chart_has_a_name_and_finite_places(page: Page) -> None:
    assert sum(1 for _ in page.of("figure", "chart")) >= 15
    for path in page.of("path"):
        assert "nan" not in (path["d"] or "")
        assert "inf" not in (path["d"] or "")
    assert all(one["role"] == "img" for one in page.of("svg") if "x" not in one)


def test_every_part_but_the_last_says_what_to_do(page: Page) -> None:
    assert sum(1 for _ in page.of("p", "advice")) == len(SECTIONS) - 1


def test_names_from_outside_are_only_text() -> None:
    names = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>']
    hostile = Page(report_page(judged(names)))
    assert hostile.open == []
    assert not list(hostile.of("img"))
    assert sum(1 for _ in hostile.of("script")) == 2
    assert hostile.evaluation["observation_names"] == names


def test_many_observations_without_bands_or_enough_ticks_still_give_a_page() -> None:
    names = [f"joint{number}" for number in range(30)]
    text = report_page(judged(names, bands=False))
    assert len(text) < 5_000_000
    assert [one["id"] for one in Page(text).of("section")] == SECTIONS
    test = [run.slice(0, 15) for run in runs(1, ["x"])]
    model = LinearARX(past=3, future=5).fit(runs(2, ["x"]))
    few = judge(model, "m", Split([], [], test), Judging(horizon=5))
    assert [one["id"] for one in Page(report_page(few)).of("section")] == SECTIONS


def test_still_and_missing_columns_give_a_page() -> None:
    made = []
    for run in runs(3, ["x", "y", "z"]):
        observations = run.observations.copy()
        observations[:, 1] = 3.0
        observations[:, 2] = np.where(np.arange(260) < 40, observations[:, 2], np.nan)
        made.append(Trajectory(observations, np.zeros((260, 1)), 0.05, ["x", "y", "z"], ["u"]))
    model = LastObservation().fit(made)
    text = report_page(judge(model, "m", Split([], [], made), Judging(horizon=5)))
    assert "nan" not in "".join(one["d"] or "" for one in Page(text).of("path"))


def test_the_file_appears_whole_or_not_at_all(judgement: Judgement, tmp_path: Any) -> None:
    write_report(tmp_path / "r.html", judgement)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    with pytest.raises(Exception, match="cannot write"):
        write_report(tmp_path / "none" / "r.html", judgement)
