use super::*;
use crate::chart::{Axis, Curve, Kind};

fn line() -> Chart {
    let mut chart =
        Chart::new("line", "A line", Axis::linear("time", "s"), Axis::from_zero("rate", "MB/s"));
    chart.curve(Curve::new(
        "vendor2",
        Kind::Line,
        vec![0.0, 1.0, 2.0],
        vec![Some(1.0), None, Some(3.0)],
    ));
    chart.curve(Curve::new(
        "other <&> drive",
        Kind::Line,
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
    let mut curve = Curve::bars("stutter", vec![Some(0.5), Some(0.1)]);
    curve.low = Some(vec![Some(0.4), Some(0.05)]);
    curve.high = Some(vec![Some(0.6), Some(0.15)]);
    curve.labels = Some(vec!["noted".to_owned(), String::new()]);
    bars.curve(curve);
    let mut cells =
        Chart::new("cells", "Cells", Axis::of("trimmed", names()), Axis::of("written", names()));
    cells.z = Some(Axis::from_zero("settling time", "s"));
    let mut curve = Curve::new("settling", Kind::Cells, vec![0.0, 1.0], vec![Some(0.0), Some(1.0)]);
    curve.z = Some(vec![Some(0.123), None]);
    cells.curve(curve);
    let mut points = Chart::new(
        "points",
        "Points",
        Axis::log("latency", "ms"),
        Axis::linear("amplification", ""),
    );
    let mut curve =
        Curve::new("policies", Kind::Points, vec![0.1, 10.0], vec![Some(1.0), Some(2.0)]);
    curve.labels = Some(vec!["paced".to_owned(), "online".to_owned()]);
    points.curve(curve);
    for (chart, texts) in [
        (line(), vec!["vendor2", "other &lt;&amp;&gt; drive", "1GiB deleted", "MB/s"]),
        (bars, vec!["first", "second", "noted", "s/GB"]),
        (cells, vec!["first", "second", "0.123"]),
        (points, vec!["paced", "online", "amplification"]),
    ] {
        let svg = drawing.svg(&chart, [960, 360]).unwrap();
        assert!(svg.starts_with("<svg"), "{}", &svg[..60.min(svg.len())]);
        for text in texts {
            assert!(svg.contains(text), "`{}` lacks {text}: {svg}", chart.id);
        }
    }
}

#[test]
fn the_same_chart_gives_the_same_bytes() {
    let drawing = Drawing::start().unwrap();
    let other = Drawing::start().unwrap();
    assert_eq!(drawing.svg(&line(), [960, 360]).unwrap(), other.svg(&line(), [960, 360]).unwrap());
}

#[test]
fn a_fault_of_the_script_names_the_chart() {
    let drawing = Drawing::start().unwrap();
    let error = drawing.evaluate::<String>("some-chart", "nothing.at.all()").unwrap_err();
    assert!(error.to_string().contains("`some-chart`"), "{error}");
    assert!(error.to_string().contains("nothing"), "{error}");
}
