"""Whether the charts of a page are drawn with their data, and answer mouse and wheel.

The definition of a chart is what the page was given; what is drawn is read back from ECharts and
from the pixels. Whether the definition is true of the record is `record.py`'s question.
"""

import json
import math
import re
import time

# What ECharts holds of each series, and how places become pixels.
READ = """id => {
  const chart = trimbench.charts[id];
  if (!chart) return null;
  const model = chart.getModel(), series = [], axes = [];
  model.eachRawSeries(one => {
    const data = one.getRawData(), places = {};
    for (const name of ['x', 'y', 'value']) {
      const dimensions = data.mapDimensionsAll(name);
      places[name] = dimensions.map(it =>
        data.mapArray(data.getDimensionIndex(it), v => Number.isNaN(v) ? null : v));
    }
    series.push({
      name: one.name, type: one.subType, index: one.seriesIndex,
      shown: !model.isSeriesFiltered(one),
      places, colour: one.getData().getVisual('style')?.fill ??
        one.getData().getVisual('style')?.stroke,
    });
  });
  for (const name of ['xAxis', 'yAxis']) {
    model.eachComponent(name, it => axes.push({
      name, type: it.axis.type, extent: it.axis.scale.getExtent(),
      inverse: it.axis.inverse, band: it.axis.onBand,
    }));
  }
  const grid = model.getComponent('grid')?.coordinateSystem.getRect();
  return {
    series, axes, grid: grid && {x: grid.x, y: grid.y, width: grid.width, height: grid.height},
    width: chart.getWidth(), height: chart.getHeight(),
    zooms: (chart.getOption().dataZoom ?? []).map(it => it.type),
  };
}"""
PIXELS = """([id, index, places]) => places.map(place => place.includes(null) ? null :
  trimbench.charts[id].convertToPixel({seriesIndex: index}, place))"""
# Where each bar of a series is drawn.
BARS = """([id, index]) => {
  const data = trimbench.charts[id].getModel().getSeriesByIndex(index).getData();
  return data.mapArray(at => {
    const it = data.getItemLayout(at);
    return {
      x: Math.min(it.x, it.x + it.width), width: Math.abs(it.width),
      y: Math.min(it.y, it.y + it.height), height: Math.abs(it.height),
    };
  });
}"""
# The colours within a few pixels of each place, over all layers of the canvas.
COLOURS = """([id, places, reach]) => {
  const found = places.map(() => []);
  for (const canvas of trimbench.charts[id].getDom().querySelectorAll('canvas')) {
    const ratio = canvas.width / canvas.clientWidth, size = 2 * reach * ratio + 1;
    const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    places.forEach(([x, y], place) => {
      const left = Math.round((x - reach) * ratio), top = Math.round((y - reach) * ratio);
      for (let row = Math.max(0, top); row < Math.min(canvas.height, top + size); row++)
        for (let at = Math.max(0, left); at < Math.min(canvas.width, left + size); at++) {
          const i = 4 * (row * canvas.width + at);
          if (all[i + 3] > 0) found[place].push(Array.from(all.slice(i, i + 4)));
        }
    });
  }
  return found;
}"""
ONLY = """([id, name]) => {
  const chart = trimbench.charts[id];
  if (!chart.getOption().legend?.length) return;
  for (const one of chart.getModel().getSeries())
    chart.dispatchAction({type: 'legendUnSelect', name: one.name});
  chart.dispatchAction({type: 'legendSelect', name});
  // Else it is drawn with the next frame, which need not come before the pixels are read.
  chart.getZr().flush();
}"""
SELECTED = "id => trimbench.charts[id].getOption().legend?.[0]?.selected ?? null"
REDRAW = "([id, selected]) => trimbench.charts[id].setOption({legend: {selected}})"
HIDE = "id => trimbench.charts[id].dispatchAction({type: 'hideTip'})"
ALL = "id => trimbench.charts[id].dispatchAction({type: 'dataZoom', start: 0, end: 100})"
TOOLTIP = """id => {
  const boxes = [...trimbench.charts[id].getDom().querySelectorAll('div')].filter(it =>
    it.style.position === 'absolute' && it.style.pointerEvents === 'none' &&
    it.style.visibility !== 'hidden' && it.style.opacity !== '0' && it.innerText.trim());
  return boxes.map(it => it.innerText).join('\\n');
}"""
# Every text and every handle that is drawn: what it says, where its centre is.
SHAPES = """id => trimbench.charts[id].getZr().storage.getDisplayList(true).filter(it => !it.ignore)
  .map(it => {
    const box = it.getBoundingRect().clone();
    if (it.transform) box.applyTransform(it.transform);
    const centre = [box.x + box.width / 2, box.y + box.height / 2];
    return {text: it.style?.text ?? '', cursor: it.cursor, centre, left: box.x};
  })"""
TYPES = {"line": "line", "steps": "line", "points": "scatter", "bars": "bar", "cells": "heatmap"}
UNITS = {
    "B": {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
          "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "s": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1},
    "ms": {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3},
}
NUMBER = re.compile(r"([-+\u2212]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:\s*([A-Za-z]+))?")


class Drawn:
    """A chart of the page: its definition, and what ECharts made of it."""

    def __init__(self, page, definition):
        self.page, self.definition, self.id = page, definition, definition["id"]
        self.state = page.evaluate(READ, self.id)

    def read_again(self):
        self.state = self.page.evaluate(READ, self.id)
        return self

    def series(self, curve):
        """What draws a curve, but not its interval or band."""
        kind = TYPES[curve["kind"]]
        found = [it for it in self.state["series"] if it["name"] == curve["name"]]
        found = [it for it in found if it["type"] == kind]
        return found[0] if len(found) == 1 else None

    def points(self, curve):
        """The curve's places and values as ECharts must hold them."""
        pairs = list(zip(curve["x"], curve["y"]))
        return [(y, x) for x, y in pairs] if self.definition["horizontal"] else pairs

    def axis(self, name):
        return next((it for it in self.state["axes"] if it["name"] == name), None)

    def places(self, series, points):
        """Where ECharts draws these points."""
        points = [list(point) for point in points]
        return self.page.evaluate(PIXELS, [self.id, series["index"], points])

    def pixels(self, curve):
        """Where all points of a curve are drawn; none where there is no value."""
        return self.places(self.series(curve), self.points(curve))

    def place(self, series, point):
        """Where a point lies, worked out of the axes alone."""
        grid = self.state["grid"]
        y_axis = self.axis("yAxis")
        across = share(self.axis("xAxis"), point[0])
        up = share(y_axis, point[1])
        up = up if y_axis["type"] == "category" and y_axis["inverse"] else 1 - up
        return (grid["x"] + across * grid["width"], grid["y"] + up * grid["height"])

    def bars(self, curve):
        """Where each bar of a curve is drawn."""
        return self.page.evaluate(BARS, [self.id, self.series(curve)["index"]])

    def centre(self):
        """The plot in the window: the place of its upper left corner."""
        plot = self.page.locator(f"#chart-{self.id} .plot")
        plot.evaluate("it => it.scrollIntoView({block: 'center', behavior: 'instant'})")
        box = plot.bounding_box()
        return box["x"], box["y"]


def share(axis, value):
    """How far along an axis a value lies: 0 at its beginning, 1 at its end."""
    low, high = axis["extent"]
    if axis["type"] == "category":
        return (value - low + 0.5) / (high - low + 1)
    if axis["type"] == "log":
        # ECharts gives the extent of a logarithmic scale in powers or in values.
        low, high, value = math.log10(low), math.log10(high), math.log10(value)
    return (value - low) / (high - low) if high > low else 0.5


def all_charts(page):
    return [Drawn(page, it) for it in page.evaluate("trimbench.context.charts")]


def data_faults(chart):
    """Where what ECharts holds is not what the chart's definition says."""
    if chart.state is None:
        return ["is not drawn"]
    faults = []
    if chart.page.locator(f"#chart-{chart.id} .plot").count() != 1:
        faults.append("has no place in the page")
    if chart.state["width"] < 200 or chart.state["height"] < 100:
        faults.append(f"is {chart.state['width']} by {chart.state['height']} pixels")
    if not any(value is not None for it in chart.definition["series"] for value in it["y"]):
        faults.append("has no values")
    for curve in chart.definition["series"]:
        series = chart.series(curve)
        if series is None:
            faults.append(f"{curve['name']}: not drawn once")
            continue
        held = list(zip(series["places"]["x"][0], series["places"]["y"][0]))
        if held != chart.points(curve):
            faults.append(f"{curve['name']}: ECharts holds other points than the definition")
        if "z" in curve and series["places"]["value"][0] != curve["z"]:
            faults.append(f"{curve['name']}: ECharts holds other colours than the definition")
        if series["shown"] == curve["hidden"]:
            faults.append(f"{curve['name']}: shown and hidden are mixed up")
        faults += interval_faults(chart, curve)
    return faults


def interval_faults(chart, curve):
    """Intervals and bands are series of their own, of the same name."""
    if "low" not in curve:
        return []
    ends = [pair for pair in zip(curve["low"], curve["high"]) if None not in pair]
    along = "x" if chart.definition["horizontal"] else "y"
    for it in chart.state["series"]:
        if (it["name"], it["type"]) == (curve["name"], "custom"):
            places = it["places"][along]
            return [] if list(zip(*places)) == ends else [f"{curve['name']}: other intervals"]
    return [] if not ends else [f"{curve['name']}: no intervals"]


def pixel_faults(chart):
    """Where a curve is not drawn at the place of its values, in its own colour."""
    faults = []
    for curve in chart.definition["series"]:
        series = chart.series(curve)
        if series is None or curve["hidden"]:
            continue
        points = [it for it in chart.points(curve) if None not in it]
        if curve["kind"] == "bars" and not curve.get("stack"):
            faults += length_faults(chart, curve)
        ends = extremes(points)
        for point, found in zip(ends, chart.places(series, ends)):
            place = chart.place(series, point)
            if math.dist(found, place) > 1.5:
                where = f"{point} is drawn at {found}, not at {place}"
                faults.append(f"{curve['name']}: {where}")
                break
        else:
            if points and not is_seen(chart, curve, series, points):
                faults.append(f"{curve['name']}: nothing of its colour where its values are")
    return faults


def length_faults(chart, curve):
    """Where a bar is not as long as its value, beginning at 0 (or where a logarithmic axis does)."""
    horizontal = chart.definition["horizontal"]
    axis, along = ("xAxis", "width") if horizontal else ("yAxis", "height")
    axis, size = chart.axis(axis), chart.state["grid"][along]
    low = axis["extent"][0]
    if axis["type"] != "log" and low > 0:
        return [f"{curve['name']}: the axis of its bars begins at {low}, not at 0"]
    foot = low if axis["type"] == "log" else 0
    for value, bar in zip(curve["y"], chart.bars(curve)):
        if value is None:
            continue
        wanted = abs(share(axis, value) - share(axis, foot)) * size
        if abs(wanted - bar[along]) > 1.5:
            return [f"{curve['name']}: the bar of {value} is {bar[along]} pixels, not {wanted}"]
    return []


def extremes(points):
    """First, last, lowest and highest."""
    if not points:
        return []
    height = lambda point: point[1]
    return [points[0], points[-1], min(points, key=height), max(points, key=height)]


def is_seen(chart, curve, series, points):
    if seen_now(chart, curve, series, points):
        return True
    # Others lie on top of it: look at it alone.
    page, before = chart.page, chart.page.evaluate(SELECTED, chart.id)
    page.evaluate(ONLY, [chart.id, curve["name"]])
    seen = seen_now(chart, curve, series, points)
    if before is not None:
        page.evaluate(REDRAW, [chart.id, before])
    return seen


def seen_now(chart, curve, series, points):
    if curve["kind"] == "cells":
        # Cells have the colours of the scale: what is asked is that they are filled at all.
        return all(colours(chart, chart.places(series, points), 6))
    if curve["kind"] == "bars":
        bars, at = chart.bars(curve), seen_bars(chart, curve)
        # The foot and the middle: a hollow bar has its colour along its edge only.
        places = [(bars[it]["x"] + 1, bars[it]["y"] + bars[it]["height"] / 2) for it in at]
        if not places:
            return True
    else:
        places = chart.places(series, extremes(points))
    wanted = rgb(series["colour"])
    found = [colour for place in colours(chart, places, 4) for colour in place]
    return any(close(colour, wanted) for colour in found)


def seen_bars(chart, curve):
    """Bars that are long enough to be seen: of a value of 0 nothing is."""
    along = "width" if chart.definition["horizontal"] else "height"
    lengths = [bar[along] if bar else 0 for bar in chart.bars(curve)]
    return [at for at, length in enumerate(lengths) if length >= 3]


def colours(chart, places, reach):
    """The colours around each of these places."""
    return chart.page.evaluate(COLOURS, [chart.id, [list(it) for it in places], reach])


def rgb(text):
    text = text.strip()
    if text.startswith("#"):
        return tuple(int(text[at : at + 2], 16) for at in (1, 3, 5))
    return tuple(int(float(it)) for it in re.findall(r"[\d.]+", text)[:3])


def close(colour, wanted):
    return colour[3] > 100 and max(abs(a - b) for a, b in zip(colour, wanted)) < 40


def hover_faults(chart):
    """Whether the tooltip over a value says that value."""
    corner = chart.centre()
    targets = [it for it in chart.definition["series"] if not it["hidden"]]
    found = ((curve, hovered(chart, curve)) for curve in targets)
    curve, at = next((it for it in found if it[1] is not None), (None, None))
    if curve is None:
        return []
    x, y = middle(chart, curve, at)
    chart.page.mouse.move(corner[0] + x - 3, corner[1] + y)
    chart.page.mouse.move(corner[0] + x, corner[1] + y)
    wait_until(chart.page, f"({TOOLTIP})('{chart.id}')")
    fault = tooltip_fault(chart, curve, at, chart.page.evaluate(TOOLTIP, chart.id))
    chart.page.mouse.move(1, 1)
    chart.page.evaluate(HIDE, chart.id)
    return [f"{curve['name']}: {fault}"] if fault else []


def hovered(chart, curve):
    """The value to look at: one that no other value hides."""
    values = curve["z"] if "z" in curve else curve["y"]
    places = [at for at, value in enumerate(values) if value is not None]
    if chart.series(curve) is None or not places:
        return None
    if curve["kind"] == "bars":
        return max(seen_bars(chart, curve), key=lambda at: abs(values[at]), default=None)
    places = places[len(places) // 2 :] + places[: len(places) // 2]
    if curve["kind"] != "points":
        return places[0]
    own = chart.pixels(curve)
    others = [it for it in chart.definition["series"] if it is not curve and not it["hidden"]]
    others = [pixel for it in others for pixel in chart.pixels(it) if pixel]
    alone = lambda at: all(math.dist(own[at], other) > 16 for other in others)
    return next((at for at in places if own[at] and alone(at)), None)


def middle(chart, curve, at):
    """Where a value is drawn: the place of its point, or the middle of its bar."""
    if curve["kind"] != "bars":
        return chart.pixels(curve)[at]
    bar = chart.bars(curve)[at]
    return bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2


def wait_until(page, condition, limit=2):
    """Whether it came true in time, s. Asked from outside: the page evaluates no text."""
    end = time.monotonic() + limit
    while not page.evaluate(condition):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def tooltip_fault(chart, curve, at, text):
    if not text:
        return "no tooltip"
    definition = chart.definition
    if curve["kind"] == "cells":
        axis, lines, right = definition["z"], text.splitlines()[-1:], [curve["z"][at]]
    else:
        axis = definition["y"]
        lines = [it.split(curve["name"], 1)[1] for it in text.splitlines() if curve["name"] in it]
        if not lines:
            return f"the tooltip does not name it: {text!r}"
        # Where values are dense, the mouse stands on several of them.
        along = 1 if definition["horizontal"] else 0
        pixels = chart.pixels(curve)
        near = [it for it, pixel in enumerate(pixels)
                if pixel and abs(pixel[along] - pixels[at][along]) <= 2]
        right = [curve["y"][it] for it in near]
    said = [value for line in lines for value in quantities(line, axis["unit"])]
    # What is too small for the digits that are said is told as a bound.
    bounds = [one for line in lines if "<" in line for one, _ in quantities(line, axis["unit"])]
    if any(0 <= other < bound for bound in bounds for other in right):
        return None
    # Half of the last digit that is said may be lost.
    if any(abs(one - other) <= 1.001 * half for one, half in said for other in right):
        return None
    return f"the tooltip says {text!r}, not {right}"


def quantities(text, unit):
    """The numbers of a text, in `unit`, each with half of its last digit."""
    ladder = UNITS.get(unit, {})
    found = []
    for number, named in NUMBER.findall(text):
        digits = number.replace(",", "").replace("\u2212", "-")
        scale = ladder.get(named, 1)
        whole, _, fraction = digits.partition(".")
        # An interval may resolve no more than tens.
        power = -len(fraction) if fraction else len(whole) - len(whole.rstrip("0"))
        value, half = float(digits) * scale, 0.5 * 10.0**power * scale
        # A large change is said as a number of times.
        is_times = unit == "%" and named == "times"
        found.append(((value - 1) * 100, half * 100) if is_times else (value, half))
    return found


def zoom_faults(chart):
    """Whether the wheel shows less of the axis, and the slider's handle moves its beginning."""
    if "inside" not in chart.state["zooms"]:
        return []
    page, before = chart.page, chart.axis("xAxis")["extent"]
    left, top = chart.centre()
    grid = chart.state["grid"]
    page.mouse.move(left + grid["x"] + grid["width"] * 0.4, top + grid["y"] + grid["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    narrower = wait_until(page, extent_is(chart, f"b - a < {before[1] - before[0]} * 0.97"))
    page.keyboard.up("Control")
    inside = chart.read_again().axis("xAxis")["extent"]
    page.evaluate(ALL, chart.id)
    page.mouse.move(1, 1)
    if not narrower:
        return [f"the wheel does not zoom: {before}, then {inside}"]
    if inside[0] < before[0] or inside[1] > before[1]:
        return [f"zooming in leaves the axis: {inside} of {before}"]
    return slider_faults(chart, before)


def extent_is(chart, condition):
    return f"""(() => {{
      const axis = trimbench.charts['{chart.id}'].getModel().getComponent('xAxis').axis;
      const [a, b] = axis.scale.getExtent();
      return {condition};
    }})()"""


def slider_faults(chart, before):
    """Whether the left handle of the slider moves the beginning of the axis."""
    if "slider" not in chart.state["zooms"]:
        return []
    page, left_top = chart.page, chart.centre()
    shapes = page.evaluate(SHAPES, chart.id)
    handles = [it["centre"] for it in shapes if it["cursor"] == "ew-resize"]
    if len(handles) != 2:
        return [f"the slider has {len(handles)} handles"]
    x, y = (corner + at for corner, at in zip(left_top, min(handles)))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + chart.state["grid"]["width"] * 0.2, y, steps=4)
    page.mouse.up()
    span = before[1] - before[0]
    moved = wait_until(page, extent_is(chart, f"a > {before[0]} + {span} * 0.1"))
    page.evaluate(ALL, chart.id)
    page.mouse.move(1, 1)
    return [] if moved else ["the slider's handle does not move the axis"]


FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def legend_faults(chart):
    """Whether a click on a name of the legend takes the series away, and another brings it back."""
    names = {it["name"] for it in chart.definition["series"] if not it["hidden"]}
    if len(chart.definition["series"]) < 2 or not names:
        return []
    top = chart.state["grid"]["y"]
    shapes = chart.page.evaluate(SHAPES, chart.id)
    entries = [it for it in shapes if it["text"] in names and it["centre"][1] < top]
    if not entries:
        return ["the legend names no series"]
    # The first: of those that a page of the legend cuts off, the beginning is there.
    entry = min(entries, key=lambda it: it["left"])
    corner = chart.centre()
    place = [corner[0] + entry["left"] + 5, corner[1] + entry["centre"][1]]
    faults = []
    for shown in (False, True):
        chart.page.mouse.click(*place)
        # A click is none where the legend is drawn anew between its two halves.
        chart.page.evaluate(FRAMES)
        drawn = f"""(() => {{
          const model = trimbench.charts['{chart.id}'].getModel();
          return model.getSeriesByName({json.dumps(entry["text"])})
            .some(it => !model.isSeriesFiltered(it));
        }})()"""
        if not wait_until(chart.page, drawn if shown else f"!({drawn})"):
            faults.append(f"{entry['text']}: a click does not {'show' if shown else 'hide'} it")
    chart.page.mouse.move(1, 1)
    return faults
