use super::*;

fn series(x: Vec<f64>) -> Series {
    let y = x.iter().map(|_| None).collect();
    Series::new("s", "ms", x, y).unwrap()
}

/// The axis as it is written, after a check that it comes back.
fn written(x: Vec<f64>) -> serde_json::Value {
    let series = series(x);
    let json = serde_json::to_string(&series).unwrap();
    let again: Series = serde_json::from_str(&json).unwrap();
    let bits = |series: &Series| series.x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&again), bits(&series));
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    serde_json::to_value(&series).unwrap()["x"].clone()
}

/// The short form.
fn short(from: f64, step: f64, count: u32) -> serde_json::Value {
    let regular = serde_json::json!({ "from": from, "step": step });
    let mut axis = regular.as_object().unwrap().clone();
    axis.insert("count".to_owned(), count.into());
    axis.into()
}

#[test]
fn an_even_axis_is_written_short_and_any_other_is_listed() {
    let steps =
        |count: u32, place: fn(f64) -> f64| (0..count).map(|i| place(f64::from(i))).collect();
    let table: [(Vec<f64>, serde_json::Value); 5] = [
        (steps(8, |i| i), short(0.0, 1.0, 8)),
        // 3 * 0.1 is not 0.3 in binary, and the axis is even all the same.
        (steps(40, |i| i / 10.0), short(0.0, 0.1, 40)),
        (steps(9, |i| (i - 4.0) / 10.0), short(-0.4, 0.1, 9)),
        (steps(160, |i| i * 21_875_001.0 / 1e9), short(0.0, 0.021_875_001, 160)),
        (steps(10_000, |i| (i * 43.0 + 21.0) / 1e6), short(0.000_021, 0.000_043, 10_000)),
    ];
    for (x, expected) in table {
        assert_eq!(written(x), expected);
    }
    let listed: [Vec<f64>; 8] = [
        vec![],
        steps(7, |i| i),
        // As floating point multiplies: 0.30000000000000004 is not the decimal 0.3.
        steps(40, |i| i * 0.1),
        steps(9, |_| 1.0),
        steps(9, |i| -i),
        vec![-0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0],
        steps(9, |i| i * 1e15),
    ];
    for x in listed {
        assert!(written(x.clone()).is_array(), "{x:?}");
    }
}

#[test]
fn ten_million_places_take_no_room_in_the_file() {
    let axis = Regular { from: 0.0, step: 0.001, count: 10_000_000 };
    let places = axis.places().unwrap();
    assert_eq!(places.len(), 10_000_000);
    assert_eq!(places.last(), Some(&9_999.999));
    assert_eq!(Regular::of(&places), Some(axis));
}

#[test]
fn a_short_axis_that_cannot_be_is_refused() {
    let read = |x: &str| {
        let json = format!("{{\"x_unit\":\"s\",\"y_unit\":\"ms\",\"x\":{x},\"y\":[1.0,2.0]}}");
        serde_json::from_str::<Series>(&json).map(|series| series.x)
    };
    assert_eq!(read("{\"from\":0,\"step\":0.5,\"count\":2}").unwrap(), [0.0, 0.5]);
    for (wrong, expected) in [
        ("{\"from\":0,\"step\":0.5,\"count\":1000000000000000}", "places for 2 values"),
        ("{\"from\":0,\"step\":0.5}", "missing field `count`"),
        ("{\"from\":0,\"step\":0.5,\"count\":2,\"more\":1}", "unknown field `more`"),
        ("{\"from\":0,\"step\":1e-11,\"count\":2}", "more digits"),
        ("{\"from\":1e300,\"step\":1,\"count\":2}", "more digits"),
        ("\"0 to 5\"", "a list of places"),
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}
