use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What a fit of two values prints, with what can be wrong.
fn found(determined: &str, [best, low, high]: [f64; 3], twin: f64) -> String {
    let value = |key: &str| {
        format!(
            "{{\"key\":\"{key}\",\"determined\":\"{determined}\",\
             \"numbers\":[{best},{low},{high}]}}"
        )
    };
    let figure = |name: &str, twin: f64, off: f64| {
        format!(
            "{{\"name\":\"{name}\",\"measured\":1.0,\"twin\":{twin},\"used\":\"fitted\",\
             \"off\":{off}}}"
        )
    };
    format!(
        "{{\"parameters\":[{},{}],\"figures\":[{},{}]}}",
        value(OF_SHORT[0]),
        value(OF_SHORT[1]),
        figure(DIRECT, twin, 1.0),
        figure("idle-trim.chunked-empty", 1.4, 9.0)
    )
}

/// How much fails where the fit ends with this code and prints this, and these images are left.
fn fails(code: i32, text: &str, left: &str) -> usize {
    let planted = Planted::new();
    planted.capture(FIT, code, text);
    planted.capture(LEFT, 0, left);
    failing(&read(&planted.raw_of(Form::Short)).unwrap()).len()
}

#[test]
fn an_honest_answer_holds_and_each_that_is_not_fails() {
    let honest = found("at-most", [2.0, 1.0, 3.0], 1.1);
    assert_eq!(fails(CONTRADICTED, &honest, ""), 0);
    // A figure is off, and the code does not say so.
    assert_eq!(fails(0, &honest, ""), 1);
    // The same of one that is too far off to be fitted to.
    let far = found("yes", [2.0, 1.0, 3.0], 1.1)
        .replace("\"fitted\",\"off\":9", "\"too-far-off\",\"off\":0");
    assert_eq!(fails(CONTRADICTED, &far, ""), 0);
    assert_eq!(fails(0, &far, ""), 1);
    // A value outside its interval, or of which nothing is said.
    assert_eq!(fails(CONTRADICTED, &found("yes", [4.0, 1.0, 3.0], 1.1), ""), 1);
    assert_eq!(fails(CONTRADICTED, &found("", [2.0, 1.0, 3.0], 1.1), ""), 1);
    // The time of a TRIM is another than what was measured directly.
    assert_eq!(fails(CONTRADICTED, &found("yes", [2.0, 1.0, 3.0], 1.3), ""), 1);
    // The image is still there.
    assert_eq!(fails(CONTRADICTED, &honest, "\"trimbench-fit.img\"\n"), 1);
}
