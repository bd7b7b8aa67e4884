use super::*;
use trimbench_results::chart::{Axis, ChartKind, ChartSeries};
use trimbench_results::number::ShownFigure;

fn line() -> Chart {
    let mut chart =
        Chart::new("line", "A line", Axis::linear("time", "s"), Axis::from_zero("rate", "MB/s"));
    chart.curve(ChartSeries::new(
        "vendor2",
        ChartKind::Line,
        vec![0.0, 1.0, 2.0],
        vec![Some(1.0), None, Some(3.0)],
    ));
    chart.curve(ChartSeries::new(
        "other <&> drive",
        ChartKind::Line,
        vec![0.0, 1.0],
        vec![Some(2.0), Some(2.0)],
    ));
    chart.mark("x", 1.0, "1GiB deleted");
    chart
}

/// Every kind of curve is drawn, with its names.
#[test]
fn each_kind_of_chart_becomes_an_svg() {
    let drawing = Drawing::start().unwrap();
    let names = || vec!["first".to_owned(), "second".to_owned()];
    let mut bars =
        Chart::new("bars", "Bars", Axis::of("drive", names()), Axis::from_zero("stutter", "s/GB"));
    bars.horizontal = true;
    let mut curve = ChartSeries::bars("stutter", vec![Some(0.5), Some(0.1)]);
    curve.low = Some(vec![Some(0.4), Some(0.05)]);
    curve.high = Some(vec![Some(0.6), Some(0.15)]);
    curve.labels = Some(vec!["noted".to_owned(), String::new()]);
    bars.curve(curve);
    let mut cells =
        Chart::new("cells", "Cells", Axis::of("trimmed", names()), Axis::of("written", names()));
    cells.z = Some(Axis::from_zero("settling time", "s"));
    let mut curve =
        ChartSeries::new("settling", ChartKind::Cells, vec![0.0, 1.0], vec![Some(0.0), Some(1.0)]);
    curve.z = Some(vec![Some(0.123), None]);
    cells.curve(curve);
    let mut points = Chart::new(
        "points",
        "Points",
        Axis::log("latency", "ms"),
        Axis::linear("amplification", ""),
    );
    for (name, x) in [("paced", 0.1), ("ext4-4.13", 10.0)] {
        points.curve(ChartSeries::new(name, ChartKind::Points, vec![x], vec![Some(1.0)]));
    }
    for (chart, texts) in [
        (line(), vec!["vendor2", "other &lt;&amp;&gt; drive", "1GiB deleted", "MB/s"]),
        (bars, vec!["first", "second", "noted", "s/GB"]),
        (cells, vec!["first", "second", "123 ms"]),
        (points, vec!["paced", "ext4-4.13", "amplification"]),
    ] {
        let svg = drawing.svg(&chart, 960, 360).unwrap();
        assert!(svg.starts_with("<svg"), "{}", &svg[..60.min(svg.len())]);
        for text in texts {
            assert!(svg.contains(text), "`{}` lacks {text}: {svg}", chart.id);
        }
    }
}

/// Steps begin where the one before ended once rounded, in tenths; a transform is in the places.
#[test]
fn a_path_is_written_in_few_bytes() {
    let drawing = Drawing::start().unwrap();
    for (path, transform, written) in [
        ("M0 -1L1 0L0 1L-1 0Z", "{scale: 3, shift: [10, 20]}", "M10 17l3 3-3 3-3-3z"),
        ("M1 2L1.04 2.04L1.08 2.08L1.12 2.12", "undefined", "M1 2l0 0 .1 .1 0 0"),
        ("M-1 -1l2 0l0 2l-2 0Z", "{scale: 2, shift: [5, 5]}", "M3 3l4 0 0 4-4 0z"),
        ("M1 0A1 1 0 1 1 1 -0.1Z", "{scale: 3, shift: [0, 0]}", "M3 0a3 3 0 1 1 0-.3z"),
        ("M1 1L2 2M5 5L6 6", "undefined", "M1 1l1 1m3 3l1 1"),
        ("M1 1L2 1L2 2ZL5 5", "undefined", "M1 1l1 0 0 1zl4 4"),
        ("", "undefined", ""),
    ] {
        let script = format!("trimbenchSvg.path('{path}', {transform})");
        assert_eq!(drawing.evaluate::<String>("path", &script).unwrap(), written, "{path}");
    }
}

/// No one can turn the pages of a printed legend: it has all names, and the picture room for them.
#[test]
fn a_still_legend_has_every_name_that_is_drawn() {
    let drawing = Drawing::start().unwrap();
    let mut chart = line();
    let few = drawing.svg(&chart, 960, 360).unwrap();
    assert!(few.contains("viewBox=\"0 0 960 360\""), "{}", &few[..200]);
    let names: Vec<String> = (0..30).map(|index| format!("a drive with number {index}")).collect();
    for name in &names {
        let curve =
            ChartSeries::new(name.clone(), ChartKind::Line, vec![0.0, 1.0], vec![Some(1.0); 2]);
        chart.curve(curve);
    }
    let hidden = ChartSeries::new("not drawn", ChartKind::Line, vec![0.0, 1.0], vec![Some(9.0); 2]);
    chart.curve(ChartSeries { hidden: true, ..hidden });
    let svg = drawing.svg(&chart, 960, 360).unwrap();
    for name in &names {
        assert!(svg.contains(&format!(">{name}<")), "{name} is missing: {svg}");
    }
    assert!(!svg.contains("not drawn"));
    let (_, height) = svg.split_once("viewBox=\"0 0 960 ").unwrap();
    let (height, _) = height.split_once('"').unwrap();
    assert!(height.parse::<u32>().unwrap() > 400, "{height}");
}

/// Whatever was drawn before it: names within the file are the chart's own.
#[test]
fn the_same_chart_gives_the_same_bytes() {
    let drawing = Drawing::start().unwrap();
    let other = Drawing::start().unwrap();
    let first = drawing.svg(&line(), 960, 360).unwrap();
    assert!(first.contains("clip-path=\"url(#line-"), "{first}");
    assert_eq!(drawing.svg(&line(), 960, 360).unwrap(), first);
    assert_eq!(other.svg(&line(), 960, 360).unwrap(), first);
}

#[test]
fn a_fault_of_the_script_names_the_chart() {
    let drawing = Drawing::start().unwrap();
    let error = drawing.evaluate::<String>("some-chart", "nothing.at.all()").unwrap_err();
    assert!(error.to_string().contains("`some-chart`"), "{error}");
    assert!(error.to_string().contains("nothing"), "{error}");
}

/// The browser's formatter shows what ours shows.
#[test]
fn numbers_are_shown_in_a_browser_as_everywhere_else() {
    let drawing = Drawing::start().unwrap();
    let units = [
        "",
        "%",
        "s",
        "ms",
        "us",
        "ns",
        "B",
        "bytes",
        "GB",
        "MiB",
        "B/s",
        "MB/s",
        "IOPS",
        "s/GB",
        "s/GB^2",
        "request-s",
        "blocks",
    ];
    let mut values: Vec<f64> =
        vec![0.0, -0.0, 0.000_313, 6.9e-18, 0.5, 2.5, 999.5, 79_744.0, 1e15, 8e-6];
    // Digits of all orders, by a generator of a line.
    let mut state = 1_u64;
    for _ in 0..120 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let mantissa = (state >> 40) as f64 / 1e6;
        let power = (state >> 20) % 12;
        values.push(format!("{mantissa}e{power}").parse().unwrap());
        values.push(format!("{mantissa}e-{power}").parse().unwrap());
        values.push(-values.last().unwrap());
    }
    let (mut calls, mut ours) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        for unit in units {
            let half = values[(index * 7 + 3) % values.len()].abs();
            for interval in [None, Some((value - half, value + half)), Some((*value, *value))] {
                ours.push(ShownFigure::of(*value, interval, unit).text());
                let ends = interval.map_or(String::new(), |(low, high)| format!(",{low},{high}"));
                calls.push(format!("trimbenchNumber.quantity({value},'{unit}'{ends})"));
            }
        }
    }
    let script = format!("[{}].join('\\n')", calls.join(","));
    let theirs = drawing.evaluate::<String>("", &script).unwrap();
    let theirs: Vec<&str> = theirs.lines().collect();
    assert_eq!(theirs.len(), ours.len());
    let unequal = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != *theirs);
    assert_eq!(unequal, None);
}
