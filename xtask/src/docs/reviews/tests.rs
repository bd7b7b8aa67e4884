use ::tests::acceptance::reviews;

use super::page;

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

const EVIDENCE: &str = "\
| drives.5 (short) | generic-sata-tlc, random writes of 4 KiB in the steady state, outside the \
reviews' range | 1.02 | <= 1.5 | yes | `a` | b |

- drives.5, generic-sata-tlc, random writes of 4 KiB in the steady state, outside the reviews' \
range: ours 9200 IOPS, reviews 3000 to 9000 IOPS, fitted by collector.read; two only; A; B
";

#[test]
fn the_page_has_ours_of_the_evidence_beside_every_review() {
    let page = page(&reviews(REVIEWS).unwrap(), EVIDENCE).unwrap();
    let ours = "| random writes of 4 KiB in the steady state | 2 drives: two only | ours 9200 \
                IOPS, reviews 3000 to 9000 IOPS | collector.read | yes |";
    let review = "| random writes of 4 KiB in the steady state | [A](https://a) | 3000 to 5000 \
                  IOPS | full |";
    let missing = "| p50 of reads beside 10,000 writes a second | none: only drawn | - | - | - |";
    for line in ["## generic-sata-tlc", ours, review, "## generic-nvme-qlc", missing] {
        assert!(page.lines().any(|it| it == line), "{line}\n{page}");
    }
    assert!(page.contains("[B](https://b) | 9000 IOPS | a \\| b |"), "{page}");
}

#[test]
fn without_evidence_the_page_says_so() {
    let page = page(&reviews(REVIEWS).unwrap(), "").unwrap();
    assert!(page.contains("2 drives: two only | - | collector.read | - |"), "{page}");
}
