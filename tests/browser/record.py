"""What a record says, beside what the charts of a page were given.

Two questions. Does every number of a chart stand in the records, or follow from them as the chart
says? And does every picture that a method must have show all that its sessions measured? The
answers are worked out of `run.json` alone.
"""

import math
from decimal import Decimal

# Of each method, the series of steps that must be drawn whole: kind of step, series, and what part
# of a chart's id tells where. What is longer than a screen is thinned, and keeps its extremes.
SERIES = {
    "recovery": [("pass", "throughput-address", "-curves"),
                 ("torture", "iops-accessed", "-torture")],
    "replay": [("pass", it, f"replay-{it}") for it in (
        "iops-window", "throughput-window", "service-window", "write-amplification-window")],
}
# Of each method, figures that must be drawn as bars, points or cells, by the beginning of their
# ids, and what part of a chart's id tells where.
FIGURES = {
    "idle-trim": [("idle-trim-empty", "-whole"), ("idle-trim-full", "-whole"),
                  ("chunked-full", "-whole")],
    "policy": [("p99.9-under-", "-pareto"), ("amplification-under-", "-pareto"),
               ("max-under-", "-latency")],
    "settle": [("settling-", "-surface")],
    "trim-integrity": [("trimmed-zeroes-share", "-reads"), ("trimmed-old-data-share", "-reads")],
}
# Metrics of steps that must be drawn: kind of step, metric, factor, part of a chart's id.
METRICS = {
    "delete-stall": [("delete", "stutter_s", 1, "-regression"),
                     ("placebo", "stutter_s", 1, "-regression")],
    "steady-state": [("round", "iops", 1, "-rounds"),
                     ("round", "write_amplification_ratio", 1, "-amplification")],
    "trim-sweep": [("mapped-loaded", "response_s_max", 1e3, "-beside")],
}


def figures(records):
    """The values of all figures."""
    return [it["value"] for record in records for session in record["sessions"]
            for it in session["figures"]]


def faults(records, definitions):
    """By what was checked, the faults."""
    sessions = [it for record in records for it in record["sessions"] if "left_out" not in it]
    methods = {it["plan"]["method"]: [] for it in sessions}
    for session in sessions:
        methods[session["plan"]["method"]].append(session)
    found = {}
    for method, of_method in methods.items():
        charts = [it for it in definitions if it["id"].startswith(f"{method}-")]
        known = Known(of_method)
        for chart in charts:
            found[chart["id"]] = [fault for curve in chart["series"]
                                  for fault in known.faults(chart, curve)]
        found[f"{method}: complete"] = incomplete(method, of_method, charts)
    strays = [it["id"] for it in definitions if it["id"] not in found]
    found["every chart is of a method that was run"] = strays
    return found


class Known:
    """Every number of the sessions of one method."""

    def __init__(self, sessions):
        self.sessions = sessions
        self.steps = [it for session in sessions for it in session["steps"]]
        self.series = [it for step in self.steps for it in step["series"].values()]
        self.values = set()
        for session in sessions:
            for figure in session["figures"]:
                self.values.add(figure["value"])
                interval = figure["interval"] or {}
                self.values.update(interval[end] for end in ("low", "high") if end in interval)
        for step in self.steps:
            for value in (*step["parameters"].values(), *step["metrics"].values()):
                # Seconds are drawn as milliseconds where these are short.
                self.values.update((value, value * 1e3))

    def faults(self, chart, curve):
        drawn = [it for key in ("y", "low", "high", "z") for it in curve.get(key) or []]
        drawn = [it for it in drawn if it is not None]
        if self.is_series(curve) or self.is_row_of_series(curve):
            return []
        strange = [it for it in drawn if it not in self.values]
        if curve["kind"] == "cells":
            strange = [it for it in curve["z"] if it is not None and it not in self.values]
        if not strange or self.follows(chart, curve, strange):
            return []
        return [f"{curve['name']}: {strange[:3]} are not in the record"]

    def is_series(self, curve):
        """All of one series of one step; of a long one, some, with its extremes."""
        points = set(zip(curve["x"], curve["y"]))
        for series in self.series:
            pairs = list(zip(places(series), series["y"]))
            if not points <= set(pairs):
                continue
            if "thinned_from" not in curve:
                if len(curve["x"]) == len(pairs):
                    return True
                continue
            values = [it for it in series["y"] if it is not None]
            shown = [it for it in curve["y"] if it is not None]
            ends = (min(values), max(values)) == (min(shown), max(shown))
            if ends and curve["thinned_from"] == len(pairs):
                return True
        return False

    def is_row_of_series(self, curve):
        """The series of one name, of all steps of a session in a row, in time."""
        for session in self.sessions:
            names = {name for step in session["steps"] for name in step["series"]}
            for name in names:
                row = [it for step in session["steps"] if name in step["series"]
                       for it in step["series"][name]["y"]]
                # A logarithmic axis has no place for nothing.
                if curve["y"] in (row, [it if it and it > 0 else None for it in row]):
                    return curve["x"] == sorted(curve["x"])
        return False

    def follows(self, chart, curve, strange):
        """What a chart works out of the record: lines, bands, ratios, medians."""
        name = curve["name"]
        if name.endswith(": line"):
            return any(alike(curve["y"], line(session, curve["x"])) for session in self.sessions)
        if chart["id"].endswith("-rounds"):
            windows = [window for session in self.sessions for window in last_rounds(session)]
            return any(of_window(curve, strange, window) for window in windows)
        if chart["id"].endswith("-gain"):
            return any(alike(curve["y"], ratio(session, name)) for session in self.sessions)
        if chart["id"].startswith("trim-sweep-"):
            return all(self.is_latency(x, y) for x, y in zip(curve["x"], curve["y"])
                       if y is not None and y not in self.values)
        return False

    def is_latency(self, size, milliseconds):
        """Of a row too short for a median of its own: within its shortest and longest."""
        rows = [it for it in self.steps if it["parameters"].get("size_bytes") == size]
        ends = [(it["metrics"].get("latency_s_min", 0), it["metrics"].get("latency_s_max", 0))
                for it in rows if "latency_s_p50" not in it["metrics"]]
        # Histograms hold three digits.
        return any(low * 999 <= milliseconds <= high * 1001 for low, high in ends)


def places(series):
    """Where the values of a series stand; a regular axis is its beginning, step and count, and its
    places are rounded once."""
    x = series["x"]
    if isinstance(x, list):
        return x
    begin, step = Decimal(str(x["from"])), Decimal(str(x["step"]))
    return [float(begin + at * step) for at in range(x["count"])]


def alike(drawn, expected):
    """Equal but for the order of additions."""
    if expected is None or len(drawn) != len(expected):
        return False
    same = lambda a, b: a == b or (None not in (a, b) and math.isclose(a, b, rel_tol=1e-9))
    return all(same(a, b) for a, b in zip(drawn, expected))


def line(session, x):
    """The regression: the headline is its slope."""
    of = {it["id"]: it["value"] for it in session["figures"]}
    if not {"stutter", "stutter-intercept"} <= of.keys():
        return None
    return [of["stutter-intercept"] + of["stutter"] * it for it in x]


def last_rounds(session):
    """IOPS of the last five rounds of each trimmed share."""
    shares = {}
    for step in session["steps"]:
        if step["kind"] == "round":
            share = step["parameters"].get("trimmed_percent", 0)
            shares.setdefault(share, []).append(step["metrics"]["iops"])
    return [it[-5:] for it in shares.values() if len(it) >= 5]


def of_window(curve, strange, window):
    """The criterion: a band of 10 % about the mean, and a line of least squares."""
    mean = sum(window) / 5
    slope = sum((at - 2) * it for at, it in enumerate(window)) / 10
    allowed = [mean * 0.9, mean * 1.1, mean - 2 * slope, mean + 2 * slope]
    return all(any(math.isclose(it, value, rel_tol=1e-9) for value in allowed) for it in strange)


def ratio(session, depth):
    """IOPS with TRIM over IOPS without, window by window."""
    steps = {it["id"]: it["series"].get("iops-window") for it in session["steps"]}
    kept, stripped = steps.get(f"{depth}-kept"), steps.get(f"{depth}-stripped")
    if not kept or not stripped:
        return None
    pairs = zip(kept["y"], stripped["y"])
    return [a / b if a is not None and b else None for a, b in pairs]


def incomplete(method, sessions, charts):
    """What a method must show and no chart does."""
    heads = [figure for session in sessions for figure in session["figures"] if figure["headline"]]
    wanted = [("headline", [(figure["value"], "-headline") for figure in heads
                            if same_kind(figure, heads[0])])]
    for session in sessions:
        label = session["plan"]["target"]
        for kind, metric, factor, where in METRICS.get(method, []):
            values = [step["metrics"][metric] * factor for step in session["steps"]
                      if step["kind"] == kind and metric in step["metrics"]]
            wanted.append((f"{metric} on {label}", [(it, where) for it in values if it > 0]))
        for beginning, where in FIGURES.get(method, []):
            values = [it["value"] for it in session["figures"] if it["id"].startswith(beginning)]
            wanted.append((f"{beginning} on {label}", [(it, where) for it in values]))
        for kind, name, where in SERIES.get(method, []):
            ends = [end for step in session["steps"] if step["kind"] == kind
                    for end in extremes(step["series"].get(name))]
            wanted.append((f"{name} on {label}", [(it, where) for it in ends]))
    faults = []
    for what, values in wanted:
        lost = [value for value, where in values if value not in shown(charts, where)]
        if lost:
            faults.append(f"{what}: {lost[:3]} are in no chart")
    return faults


def same_kind(figure, other):
    return (figure["id"], figure["unit"]) == (other["id"], other["unit"])


def extremes(series):
    values = [it for it in series["y"] if it is not None] if series else []
    return [min(values), max(values)] if values else []


def shown(charts, where):
    """Every number of the charts whose ids hold this."""
    curves = [curve for chart in charts if where in chart["id"] for curve in chart["series"]]
    return {it for curve in curves for key in ("x", "y", "z") for it in curve.get(key) or []}
