use super::*;

fn response() -> Coordinates {
    Coordinates::of_measure("response", "response time")
        .called(MetricAxis::View, "accesses", "per access")
        .at(MetricAxis::Quantile, "p99")
        .called(MetricAxis::After, "placebo", "after a placebo")
}

#[test]
fn words_come_in_the_order_of_the_axes_whatever_the_order_of_setting_them() {
    assert_eq!(response().phrase(), "response time after a placebo, p99, per access");
    let others = response().without(&[MetricAxis::Quantile]);
    assert_eq!(others.phrase(), "response time after a placebo, per access");
    assert_eq!(others.key(MetricAxis::Quantile), None);
    assert_eq!(response().to_string(), "measure=response;after=placebo;quantile=p99;view=accesses");
}

#[test]
fn empty_words_show_nothing_and_the_place_is_there() {
    let fresh = Coordinates::of_measure("throughput", "").at(MetricAxis::State, "fresh");
    assert_eq!(
        (fresh.phrase().as_str(), fresh.key(MetricAxis::Measure)),
        ("fresh", Some("throughput"))
    );
    assert_eq!(fresh.words(MetricAxis::Measure), Some(""));
    assert!(Coordinates::none().is_empty() && Coordinates::none().phrase().is_empty());
}

#[test]
fn coordinates_in_json_are_a_place_for_each_axis() {
    let json = serde_json::to_value(response()).unwrap();
    let expected = serde_json::json!({
        "measure": { "key": "response", "words": "response time" },
        "after": { "key": "placebo", "words": "after a placebo" },
        "quantile": { "key": "p99" },
        "view": { "key": "accesses", "words": "per access" },
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Coordinates>(json).unwrap(), response());
    let same = Coordinates::none().called(MetricAxis::Policy, "none", "none");
    assert_eq!(same, Coordinates::none().at(MetricAxis::Policy, "none"));
}

#[test]
fn an_axis_has_one_name() {
    for (name, axis) in MetricAxis::NAMES {
        assert_eq!(serde_json::to_value(axis).unwrap(), *name);
    }
}
