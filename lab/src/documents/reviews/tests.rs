use super::{page, reviews};
use crate::figure::{FigureStanding, RealFigure, RealValue};

const REVIEWS: &str = "\
[[quantity]]
class = \"generic-sata-tlc\"
id = \"random-steady\"
fitted = \"collector.read\"
reviews = [
  { drive = \"A\", low = 3000, high = 5000, condition = \"full\", source = \"https://a\" },
  { drive = \"B\", low = 9000, condition = \"a | b\", source = \"https://b\" },
]
missing = \"two only\"

[[quantity]]
class = \"generic-nvme-qlc\"
id = \"read-p50\"
missing = \"only drawn\"
";

#[test]
fn the_page_has_ours_beside_every_review() {
    let what = "random writes of 4 KiB in the steady state";
    let values = (Some(9200.0), RealValue::Between(3000.0, 9000.0), "IOPS");
    let called = ("generic-sata-tlc", what.to_owned());
    let ours = RealFigure::new(called, FigureStanding::Fitted, values, true);
    let page = page(&reviews(REVIEWS).unwrap(), &[ours]).unwrap();
    let ours = format!(
        "| {what} | 2 drives, 3000 to 9000 IOPS: two only | 9200 IOPS | collector.read | yes |"
    );
    let review = format!("| {what} | [A](https://a) | 3000 to 5000 IOPS | full |");
    let missing = "| p50 of reads beside 10,000 writes a second | none: only drawn | - | - | - |";
    for line in ["## generic-sata-tlc", &ours, &review, "## generic-nvme-qlc", missing] {
        assert!(page.lines().any(|it| it == line), "{line}\n{page}");
    }
    assert!(page.contains("[B](https://b) | 9000 IOPS | a \\| b |"), "{page}");
}

#[test]
fn what_was_not_measured_is_a_dash() {
    let page = page(&reviews(REVIEWS).unwrap(), &[]).unwrap();
    assert!(page.contains("IOPS: two only | - | collector.read | - |"), "{page}");
}
