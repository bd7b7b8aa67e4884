use super::*;

#[test]
fn words_are_read_as_the_verdict_that_has_them() {
    let table = [
        ("intact", Verdict::Intact),
        ("noise", Verdict::Noise),
        ("noise: not told apart from placebo", Verdict::NotToldFromPlacebo),
        (
            "no slowdown found (at most 0.002 s/GB)",
            Verdict::NoSlowdownFound { at_most: "0.002 s/GB".to_owned() },
        ),
        ("steady at round 7", Verdict::SteadyAt { round: 7 }),
        ("not reached at 2 of 4 points", Verdict::NotSettledAt { open: 2, points: 4 }),
        ("above: 93 % of it", Verdict::StallIn { layer: "above".to_owned(), percent: 93.0 }),
        (
            "data lost that was not trimmed: first in `a` at LBA 17",
            Verdict::DataLost { case: "a".to_owned(), lba: 17 },
        ),
        (
            "data lost that was not trimmed: first in `a` at LBA 17 and in 3 other cases",
            Verdict::DataLostOften { case: "a".to_owned(), lba: 17, others: 3 },
        ),
        (
            "kept: the same at each read, zeroes; partly trimmed granules keep old data",
            Verdict::StableButEdges { reads: "zeroes".to_owned() },
        ),
        (
            "write 4096 into `queue/discard_max_bytes` (p99 1.23 ms of 200 discards; 8KiB takes \
             12.0 ms)",
            Verdict::WriteDiscardMax {
                bytes: 4_096,
                statistic: "p99".to_owned(),
                latency: "1.23 ms".to_owned(),
                discards: 200,
                next: "8KiB".to_owned(),
                next_latency: "12.0 ms".to_owned(),
            },
        ),
        ("steady at round x", Verdict::Other("steady at round x".to_owned())),
        ("better than ever", Verdict::Other("better than ever".to_owned())),
    ];
    for (words, verdict) in table {
        assert_eq!(Verdict::from_words(words), verdict);
        assert_eq!(verdict.to_string(), words);
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
    }
}

/// What one types or looks for has no commas; a share is shown as any other.
#[test]
fn numbers_in_words_are_shown_as_everywhere() {
    let served = Verdict::LoadNotServed { served: 12_345 };
    assert_eq!(served.to_string(), "the drive serves 12,345 a second without any TRIM");
    let lost = Verdict::DataLost { case: "a".to_owned(), lba: 12_345 };
    assert!(lost.to_string().ends_with("at LBA 12345"));
    let words = |percent| Verdict::SteadyAndSettled { round: 5, percent, writes: 2 }.to_string();
    assert!(words(0.910_692).contains("changed by 0.911 % in"));
    assert!(words(0.000_2).contains("changed by < 0.001 % in"));
}

#[test]
fn json_is_an_id_with_numbers_and_of_another_version_the_words() {
    let json = |verdict: &Verdict| serde_json::to_string(verdict).unwrap();
    assert_eq!(json(&Verdict::BackToNew), r#"{"id":"back-to-new"}"#);
    let slower = Verdict::SlowerAfter { slowed: 1, trims: 4 };
    assert_eq!(json(&slower), r#"{"id":"slower-after","slowed":1,"trims":4}"#);
    assert_eq!(json(&Verdict::Other("so so".to_owned())), r#""so so""#);
    for none in ["5", r#"{"id":"of-the-future"}"#, r#"{"id":"steady-at"}"#] {
        let error = serde_json::from_str::<Verdict>(none).unwrap_err().to_string();
        assert!(error.starts_with("the words of a verdict, or an object"), "{error}");
    }
}
