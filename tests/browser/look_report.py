"""Looks at a report in Chromium: `look_report.py PAGE [--stall ...] [--pictures DIR]`.

Prints what is there as one document of JSON: how long drawing took, charts, messages, verdicts,
complaints. With `--stall CHART TIME VALUE` also whether that one value is seen at every zoom, with
`--pictures` what each section's picture is like.
"""

import argparse
import base64
import json
import math
import pathlib
import statistics

import charts
import chromium
import whole_page

# How often the page is opened for the time that drawing takes.
LOADS = 3
# Parts of the axis that are shown, from all of it to a millionth, each a quarter of the one before.
ZOOMS = [4.0**-power for power in range(11)]
ZOOM = """([id, from, to]) => trimbench.charts[id].dispatchAction(
  {type: 'dataZoom', dataZoomIndex: 0, startValue: from, endValue: to})"""
FACTS = """() => ({
  drawn_ms: Number(document.documentElement.dataset.drawnMs),
  all_drawn_ms: Number(document.documentElement.dataset.allDrawnMs),
  charts: trimbench.context.charts.length,
  thinned: Math.max(0, ...trimbench.context.charts.flatMap(it => it.series)
    .map(it => it.thinned_from ?? 0)),
  methods: [...document.querySelectorAll('section[id^=method-]')].map(it => it.id.slice(7)),
  messages: [...document.querySelectorAll('#messages li')].map(it => it.innerText),
  records: document.querySelector('header').innerText,
  figures: document.querySelectorAll('table.data tbody tr').length,
})"""
# What a picture shows of a section at most, pixels, and how much smaller it is kept.
HIGHEST = 1700
# Sections scroll to below the bar at the top, which is lower than 60 pixels.
PICTURE = {"width": 1440, "height": HIGHEST + 60}
SCALE = 0.6
# A picture as WebP of this scale, and how many colours it has.
SMALL = """async ([text, scale]) => {
  const bytes = Uint8Array.from(atob(text), it => it.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
  const [width, height] = [image.width, image.height].map(it => Math.round(it * scale));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, width, height);
  const data = context.getImageData(0, 0, width, height).data;
  const colours = new Set(new Uint32Array(data.buffer)).size;
  const blob = await canvas.convertToBlob({type: 'image/webp', quality: 0.55});
  const small = new Uint8Array(await blob.arrayBuffer());
  return {colours, webp: btoa(Array.from(small, it => String.fromCharCode(it)).join(''))};
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--stall", nargs=3, metavar=("CHART", "TIME", "VALUE"))
    parser.add_argument("--pictures", type=pathlib.Path, metavar="DIR")
    arguments = parser.parse_args()
    url = arguments.page.resolve().as_uri()
    found = {"bytes": arguments.page.stat().st_size}
    with chromium.browser() as browser:
        times = []
        for _ in range(1 if arguments.pictures else LOADS):
            with chromium.report(browser, url) as page:
                found.update(page.evaluate(FACTS))
                times.append(found["drawn_ms"])
                found["verdicts"] = whole_page.verdicts(page)
                found["complaints"] = whole_page.complaints(page)
        found["drawn_ms"] = statistics.median(times)
        if arguments.stall:
            chart, time, value = arguments.stall
            with chromium.report(browser, url) as page:
                found["stall"] = stall(page, chart, (float(time), float(value)))
        if arguments.pictures:
            found["pictures"] = pictures(browser, url, arguments.pictures)
    print(json.dumps(found, indent=1))


def stall(page, name, point):
    """At each zoom, whether the point is in the data that is drawn, and seen where it belongs."""
    chart = next(it for it in charts.all_charts(page) if it.id == name)
    chart.centre()
    low, high = chart.axis("xAxis")["extent"]
    seen = []
    for part in ZOOMS:
        span = (high - low) * part
        begin = min(max(low, point[0] - span * 0.4), high - span)
        page.evaluate(ZOOM, [name, begin, begin + span])
        axis = chart.read_again().axis("xAxis")
        curve = next(it for it in chart.definition["series"] if it["kind"] == "line")
        series = chart.series(curve)
        held = list(zip(series["places"]["x"][0], series["places"]["y"][0]))
        place = chart.place(series, point)
        wanted = charts.rgb(series["colour"])
        close = [it for it in charts.colours(chart, [place], 3)[0] if charts.close(it, wanted)]
        # Beside it there is nothing of that height: it is one stall, and a fault would show.
        beside = [(place[0] + side * 25, place[1]) for side in (-1, 1)]
        near = [it for at in charts.colours(chart, beside, 3) for it in at
                if charts.close(it, wanted)]
        seen.append({
            "shown": (axis["extent"][1] - axis["extent"][0]) / (high - low),
            "in_data": any(math.isclose(it[0], point[0]) and it[1] == point[1] for it in held),
            "pixels": len(close), "pixels_beside": len(near),
        })
    return seen


def pictures(browser, url, folder):
    """A picture of each section, in light and dark; what does not fit is cut off below."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for scheme in ("light", "dark"):
        with chromium.report(browser, url, viewport=PICTURE, color_scheme=scheme) as page:
            ids = page.evaluate("[...document.querySelectorAll('section[id]')].map(it => it.id)")
            for name in ids:
                section = page.locator(f"#{name}")
                section.evaluate("it => it.scrollIntoView({block: 'start', behavior: 'instant'})")
                # A picture of the window: one of the whole page takes seconds.
                box = section.bounding_box()
                clip = {**box, "height": min(box["height"], HIGHEST)}
                made[f"{name}-{scheme}.webp"] = page.screenshot(clip=clip)
    with chromium.empty(browser) as page:
        return [written(page, folder / name, picture) for name, picture in made.items()]


def written(page, path, picture):
    """Writes a picture; its name, its size and how many colours it has."""
    small = page.evaluate(SMALL, [base64.b64encode(picture).decode(), SCALE])
    content = base64.b64decode(small["webp"])
    path.write_bytes(content)
    return {"file": path.name, "bytes": len(content), "colours": small["colours"]}


if __name__ == "__main__":
    main()
