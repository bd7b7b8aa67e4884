"""Checks a report in Chromium: `check_report.py PAGE RUN.JSON... [--verdict TARGET=ACTION]...`.

Prints a line of JSON for each check: its theme, what was checked, and the faults that were found.
With `--break-each` the page is broken on purpose, in each way that `BREAKS` has, and only the theme
that must notice is checked: there every line must have faults.
"""

import argparse
import json
import pathlib
import re

import charts
import chromium
import record
import tables
import whole_page

# Ways to break a page, by the theme that must notice. Each runs in the page once it is drawn.
BREAKS = {
    "data": """() => { for (const chart of Object.values(trimbench.charts)) {
      const series = chart.getOption().series.map(it => ({data: it.data}));
      const line = series.find(it => it.data.length > 2 && Array.isArray(it.data[1]));
      if (!line) continue;
      line.data = line.data.map((it, at) => at === 1 ? [it[0], it[1] * 1.001] : it);
      chart.setOption({series});
    } }""",
    "record": """() => { for (const it of trimbench.context.charts.flatMap(it => it.series))
      if (it.y.length > 2) it.y[1] *= 1.001; }""",
    "pixels": """() => { for (const it of document.querySelectorAll('.plot canvas'))
      it.getContext('2d').clearRect(0, 0, it.width, it.height); }""",
    "hover": """() => { for (const it of Object.values(trimbench.charts))
      it.setOption({tooltip: {formatter: () => '1.2345'}}); }""",
    "zoom": """() => { for (const it of Object.values(trimbench.charts)) {
      const zoom = it.getOption().dataZoom;
      if (zoom?.length) it.setOption({dataZoom: zoom.map(() => ({disabled: true}))}); } }""",
    "legend": """() => { for (const it of Object.values(trimbench.charts))
      it.setOption({legend: {selectedMode: false}}); }""",
    "sorting": """() => { for (const it of document.querySelectorAll('table.data tbody')) {
      const append = it.append; it.append = (...rows) => append.apply(it, rows.reverse()); } }""",
    "filter": """() => addEventListener('input', event => event.stopImmediatePropagation(),
      {capture: true})""",
    "verdict": """() => { for (const it of document.querySelectorAll('#verdict article'))
      it.dataset.action = 'planted'; }""",
    "downloads": """() => { const make = URL.createObjectURL;
      URL.createObjectURL = () => make(new Blob(['{"planted": 1}'])); }""",
    "complaints": "() => { console.error('planted'); }",
    "network": "() => { const it = new Image(); it.src = 'http://127.0.0.1:9/planted'; }",
    "width": """() => { const it = document.createElement('div');
      it.style.width = '2000px'; it.textContent = 'planted'; document.body.append(it); }""",
    "axe": "() => document.querySelector('main').append(document.createElement('button'))",
    "theme": "() => document.body.style.setProperty('background', '#808080', 'important')",
    "print": """() => { const it = document.createElement('button');
      it.dataset.download = 'csv'; it.textContent = 'planted';
      it.style.setProperty('display', 'block', 'important'); document.body.append(it); }""",
    # Without JavaScript there is nothing to run: the page's text is changed.
    "without-javascript": None,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("records", type=pathlib.Path, nargs="+")
    parser.add_argument("--verdict", action="append", default=[], metavar="TARGET=ACTION")
    parser.add_argument("--every", action="store_true",
                        help="every chart and table must answer the mouse")
    parser.add_argument("--break-each", action="store_true")
    arguments = parser.parse_args()
    page = arguments.page.resolve()
    with chromium.browser() as browser:
        if not arguments.break_each:
            Checks(page, arguments).run(browser)
            return
        for theme, change in BREAKS.items():
            if theme == "without-javascript":
                page = without_svg(page)
            Checks(page, arguments, theme, change).run(browser)


def without_svg(page):
    """The page without what readers without JavaScript see."""
    text = page.read_text().replace("<noscript", "<template").replace("</noscript", "</template")
    broken = page.with_suffix(".broken.html")
    broken.write_text(text)
    return broken


class Checks:
    """All checks of one page, or those of one theme of a page that was broken."""

    def __init__(self, page, arguments, only=None, change=None):
        self.url, self.every, self.only, self.change = page.as_uri(), arguments.every, only, change
        self.records = [json.loads(path.read_bytes()) for path in arguments.records]
        self.verdicts = dict(it.rsplit("=", 1) for it in arguments.verdict)
        self.found = False

    def run(self, browser):
        names, rows = [], {}
        with self.report(browser, accept_downloads=True) as page:
            if self.wants("charts", "record", "data", "pixels", "hover", "zoom", "legend"):
                self.charts(charts.all_charts(page))
            if self.wants("without-javascript", "print"):
                names = [it.id for it in charts.all_charts(page)]
                rows = {it["id"]: page.evaluate(tables.LENGTH, it["id"])
                        for it in tables.all_tables(page)}
            self.verdict(page)
            if self.wants("sorting", "filter"):
                self.tables(page)
            if self.wants("downloads"):
                self.downloads(page)
            self.look(page, "1440 pixels, light", dark=False)
            self.say("print", "on A4", whole_page.print_faults, page, names)
            self.say("theme", "turned by the button", whole_page.button_faults, page)
            self.say("network", "all the while", whole_page.foreign_requests, page)
            self.say("complaints", "all the while", whole_page.complaints, page)
        if self.wants("width", "axe", "theme", "complaints"):
            with self.report(browser, viewport=chromium.NARROW, color_scheme="dark") as page:
                self.look(page, "360 pixels, dark", dark=True)
                self.say("complaints", "360 pixels, dark", whole_page.complaints, page)
        if self.wants("without-javascript"):
            # Nothing of the page runs here, what breaks it neither.
            with chromium.report(browser, self.url, java_script_enabled=False) as page:
                check = whole_page.without_javascript_faults
                self.say("without-javascript", "charts and tables", check, page, names, rows)

    def report(self, browser, **options):
        return chromium.report(browser, self.url, self.change, **options)

    def wants(self, *themes):
        """Whether one of these is to be checked; of a page that was broken until a fault is found."""
        return self.only is None or self.only in themes and not self.found

    def say(self, theme, what, check, *arguments):
        """Prints what a check finds; one that cannot be made has failed."""
        if not self.wants(theme):
            return
        try:
            faults = check(*arguments)
        except Exception as error:
            faults = [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
        self.found = self.found or bool(faults)
        print(json.dumps({"theme": theme, "check": what, "faults": faults}), flush=True)

    def look(self, page, what, dark):
        self.say("width", what, whole_page.width_faults, page)
        self.say("axe", what, whole_page.axe_faults, page)
        self.say("theme", what, whole_page.theme_faults, page, dark)

    def verdict(self, page):
        found = whole_page.verdicts(page) if self.wants("verdict") else {}
        for target, action in self.verdicts.items():
            said = found.get(target)
            faults = [] if said == action else [f"the page says {said}, not {action}"]
            self.say("verdict", target, lambda: faults)

    def charts(self, drawn):
        self.say("charts", "are there", lambda: [] if drawn else ["no charts"])
        if self.wants("record"):
            found = record.faults(self.records, [it.definition for it in drawn])
            for what, faults in found.items():
                self.say("record", what, lambda: faults)
        asked = set()
        for chart in drawn:
            self.say("data", chart.id, charts.data_faults, chart)
            self.say("pixels", chart.id, charts.pixel_faults, chart)
            # One of each picture: those of other drives are drawn by the same definition.
            picture = re.sub(r"-\d+-\d+-", "-", chart.id)
            if picture in asked and not self.every:
                continue
            asked.add(picture)
            self.say("hover", chart.id, charts.hover_faults, chart)
            self.say("zoom", chart.id, charts.zoom_faults, chart)
            self.say("legend", chart.id, charts.legend_faults, chart)

    def tables(self, page):
        telling = filtered = 0
        asked = set()
        for table in tables.all_tables(page):
            # One of each kind: those of other methods are sorted by the same code.
            kind = tables.kind(table)
            if kind in asked and not self.every:
                continue
            asked.add(kind)
            faults, more = tables.sort_faults(page, table)
            telling += more
            self.say("sorting", table["id"], lambda: faults)
            faults, more = tables.filter_faults(page, table)
            filtered += more
            self.say("filter", table["id"], lambda: faults)
        some = lambda count: [] if count else ["nowhere"]
        self.say("sorting", "in an order that text does not have", some, telling)
        self.say("filter", "of some rows", some, filtered)

    def downloads(self, page):
        given = tables.downloads(page)
        for kind, read in (("csv", tables.numbers_of_csv), ("json", tables.numbers_of_json)):
            texts = [text for it, text in given if it == kind]
            numbers = {number for text in texts for number in read(text)}
            lost = [it for it in record.figures(self.records) if it not in numbers]
            faults = [f"{len(lost)} figures are not in it: {lost[:5]}"] if lost else []
            self.say("downloads", kind, lambda: faults if texts else ["no button"])


if __name__ == "__main__":
    main()
