"""Whether the tables of a page sort and filter, and what its buttons give."""

import csv
import io
import json
import re

# Between two downloads.
PAUSE_MS = 150
# Rows that are shown: each cell as the number it stands for, if it does, and as text.
ROWS = """id => {
  const table = document.getElementById(id);
  return [...table.tBodies].flatMap(body => [...body.rows])
    .filter(row => row.getClientRects().length > 0)
    .map(row => [...row.cells].map(it => [it.dataset.value ?? null, it.textContent.trim()]));
}"""
TABLES = """() => [...document.querySelectorAll('table.data')].map(table => ({
  id: table.id,
  columns: [...table.querySelectorAll('thead th')].map(it => it.innerText.trim()),
}))"""
LENGTH = """id => [...document.getElementById(id).tBodies]
  .reduce((sum, body) => sum + body.rows.length, 0)"""
CLICK = """([id, column]) =>
  document.getElementById(id).querySelectorAll('thead th')[column].querySelector('button').click()"""
STATE = """([id, column]) => document.getElementById(id).querySelectorAll('thead th')[column]
  .getAttribute('aria-sort')"""
PLAIN = re.compile(r"[-+\u2212]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")


def all_tables(page):
    return page.evaluate(TABLES)


def kind(table):
    """What a table is of, whatever its method or record."""
    name = re.sub(r"-\d+$", "", table["id"])
    if name in ("table-headlines", "table-baseline", "table-states"):
        return name
    return "headline" if name.endswith("-headline") else "figures"


def number(cell):
    """The number that a cell stands for; none if it stands for none."""
    value, text = cell
    for candidate in (value, text):
        if candidate and PLAIN.fullmatch(candidate.strip()):
            return float(candidate.replace(",", "").replace("\u2212", "-"))
    return None


def opened(page, table):
    """Opens what a table is folded into, as a reader would have to."""
    page.evaluate(
        """id => { for (let it = document.getElementById(id); it; it = it.parentElement)
             if (it.tagName === 'DETAILS') it.open = true; }""",
        table["id"],
    )


def sort_faults(page, table):
    """Each column sorts both ways; numbers by value. Also whether text order would have shown."""
    opened(page, table)
    faults, telling = [], 0
    for column, title in enumerate(table["columns"]):
        for direction in ("ascending", "descending"):
            if column == 0:
                place = f"#{table['id']} thead th:nth-child({column + 1}) button"
                page.locator(place).click()
            else:
                page.evaluate(CLICK, [table["id"], column])
            if page.evaluate(STATE, [table["id"], column]) != direction:
                faults.append(f"{title}: aria-sort does not say {direction}")
                break
            cells = [row[column] for row in page.evaluate(ROWS, table["id"]) if column < len(row)]
            numbers = [number(it) for it in cells]
            known = [it for it in numbers if it is not None]
            if len(known) < len([it for it in cells if it[1] not in ("", "–", "-")]):
                continue
            if known != sorted(known, reverse=direction == "descending"):
                faults.append(f"{title}: {direction} is {known[:8]}")
            elif [str(it) for it in sorted(known)] != sorted(str(it) for it in known):
                telling += 1
    return faults, telling


def filter_faults(page, table):
    """A word leaves the rows that hold it, and no others; nothing leaves all."""
    field = page.locator(f"input[type=search][data-table='{table['id']}']")
    if field.count() == 0:
        return [], 0
    opened(page, table)
    texts = [" ".join(cell[1] for cell in row).lower() for row in page.evaluate(ROWS, table["id"])]
    words = sorted({word for text in texts for word in text.split() if len(word) > 2})
    count = lambda word: sum(word in text for text in texts)
    word = next((it for it in words if 0 < count(it) < len(texts)), None)
    if word is None:
        return [], 0
    faults = []
    for typed, expected in ((word, count(word)), ("", len(texts))):
        field.fill(typed)
        shown = len(page.evaluate(ROWS, table["id"]))
        if shown != expected:
            faults.append(f"`{typed}` leaves {shown} of {len(texts)} rows, not {expected}")
    return faults, 1


def downloads(page):
    """What each button of the records gives: its kind and its text."""
    buttons, given = page.locator("[data-download][data-record]"), []
    for at in range(buttons.count()):
        # Chromium drops a page's eleventh download within a second.
        page.wait_for_timeout(PAUSE_MS)
        with page.expect_download() as waiting:
            buttons.nth(at).click()
        text = waiting.value.path().read_text()
        given.append((buttons.nth(at).get_attribute("data-download"), text))
    return given


def numbers_of_csv(text):
    """Every number of a table in CSV; one with commas is shown to people."""
    cells = (cell for row in csv.reader(io.StringIO(text)) for cell in row)
    return [float(it) for it in cells if PLAIN.fullmatch(it) and "," not in it]


def numbers_of_json(text):
    """Every number anywhere in a document of JSON."""
    found, rest = [], [json.loads(text)]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found.append(float(value))
    return found
