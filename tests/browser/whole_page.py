"""What holds of a page as a whole: quiet, narrow enough, accessible, printable, readable without
JavaScript."""

import importlib.resources

AXE = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js")
# Of a table the first rows: the others are alike, and there are hundreds.
RUN_AXE = """() => axe.run({exclude: [['tbody tr:nth-child(n+6)']]}, {
  resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
}).then(found =>
  found.violations.map(it => ({
    id: it.id, impact: it.impact, help: it.help,
    nodes: it.nodes.slice(0, 3).map(node => node.target.join(' ') + ': ' + node.failureSummary),
  })))"""
SPOKEN = "Multiple readback operations using getImageData"
BACKGROUND = """() => {
  const colour = getComputedStyle(document.body).backgroundColor;
  const root = getComputedStyle(document.documentElement).backgroundColor;
  const text = colour === 'rgba(0, 0, 0, 0)' ? root : colour;
  const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
  return (r + g + b) / 3;
}"""
# What of the page sticks out to the right.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolled = it => { for (it = it.parentElement; it; it = it.parentElement)
    if (getComputedStyle(it).overflowX !== 'visible') return true; return false; };
  const wide = [...document.body.querySelectorAll('*')].filter(it =>
    it.getBoundingClientRect().right > width + 1 && !scrolled(it)).slice(0, 5);
  return [`${document.documentElement.scrollWidth} of ${width} pixels`].concat(
    wide.map(it => `${it.tagName} #${it.id} .${it.className}`));
}"""


def complaints(page):
    """What the page complained of; reading pixels back, as the tests do, is their affair."""
    return [it for it in page.complaints if SPOKEN not in it]


def foreign_requests(page):
    """What was asked for beside the file itself; data within the file is none."""
    url = page.url.split("#")[0]
    own = lambda it: it.split("#")[0] == url or it.startswith(("data:", "blob:"))
    return [it for it in page.requests if not own(it)]


def width_faults(page):
    return page.evaluate(TOO_WIDE)


def axe_faults(page):
    """Serious and critical findings of axe."""
    page.evaluate(AXE.read_text())
    found = page.evaluate(RUN_AXE)
    bad = [it for it in found if it["impact"] in ("serious", "critical")]
    return [f"{it['id']} ({it['impact']}): {it['help']}: {'; '.join(it['nodes'])}" for it in bad]


def theme_faults(page, dark):
    """The page is as the reader's system is."""
    found = page.evaluate(BACKGROUND)
    wanted = found < 100 if dark else found > 200
    return [] if wanted else [f"the background is {found:.0f} of 255 where {dark=}"]


def button_faults(page):
    """The button makes a light page dark."""
    page.locator("#theme").click()
    return theme_faults(page, True)


def without_javascript_faults(page, charts, tables):
    """Each chart is there as SVG with shapes, each table with its rows."""
    shown = page.evaluate(
        """() => [...document.querySelectorAll('figure[id^=chart-] svg')].filter(it => {
          const box = it.getBoundingClientRect();
          return box.width > 100 && box.height > 50 && it.querySelectorAll('path,rect').length;
        }).map(it => it.closest('figure').id.slice('chart-'.length))"""
    )
    faults = [f"{it} is not drawn" for it in sorted(set(charts) - set(shown))]
    rows = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('table.data')].map(table =>
          [table.id, [...table.tBodies].reduce((sum, body) => sum + body.rows.length, 0)]))"""
    )
    for table, count in tables.items():
        if rows.get(table) != count:
            faults.append(f"table {table} has {rows.get(table)} rows, not {count}")
    return faults


def print_faults(page, charts):
    """On paper, no button is left, and every chart is as wide as the paper at most."""
    page.emulate_media(media="print")
    buttons = page.evaluate(
        """() => [...document.querySelectorAll('button[data-download], #theme, input[type=search]')]
          .filter(it => it.getClientRects().length > 0).length"""
    )
    faults = [f"{buttons} buttons and fields are printed"] if buttons else []
    missing = page.evaluate(
        """ids => ids.filter(id => {
          const plot = document.querySelector(`#chart-${id} .plot`);
          const shown = document.querySelector(`#chart-${id}`).querySelectorAll('canvas, svg');
          return ![plot, ...shown].some(it => it && it.getClientRects().length > 0);
        })""",
        charts,
    )
    faults += [f"{it} is not printed" for it in missing]
    pdf = page.pdf(format="A4")
    page.emulate_media(media="screen")
    if not pdf.startswith(b"%PDF") or len(pdf) < 20_000:
        faults.append(f"the print is a file of {len(pdf)} bytes")
    return faults


def verdicts(page):
    """The first screen: each target with the action it is told."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('#verdict article')].map(it =>
          [it.dataset.target, it.dataset.action]))"""
    )
