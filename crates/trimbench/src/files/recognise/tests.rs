use std::io::Write as _;

use trimbench_results::{KeptStep, Step, StepOrigin};

use super::*;

const RECORD: &str = "{\"schema\":2,\"program\":{\"name\":\"trimbench\",\"model_version\":7}";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2], mark: bool) -> Vec<u8> {
    let mark = mark.then_some(0xfeff);
    mark.into_iter().chain(text.encode_utf16()).flat_map(unit).collect()
}

#[test]
fn a_record_is_known_however_it_is_kept() {
    let text = RECORD.as_bytes();
    let cut = gzip(text)[..gzip(text).len() - 8].to_vec();
    for (how, bytes) in [
        ("as it is", text.to_vec()),
        ("behind blanks", [b"\n ", text].concat()),
        ("with a mark of UTF-8", [b"\xef\xbb\xbf", text].concat()),
        ("behind a line of a log", [b"run started\n", text].concat()),
        ("in UTF-16, little endian", utf16(RECORD, u16::to_le_bytes, true)),
        ("in UTF-16, big endian", utf16(RECORD, u16::to_be_bytes, true)),
        ("in UTF-16 without a mark", utf16(RECORD, u16::to_le_bytes, false)),
        ("packed", gzip(text)),
        ("packed twice", gzip(&gzip(text))),
        ("packed and cut off", cut),
    ] {
        assert!(is_record(bytes), "{how}");
    }
    let host = "{\"command\":[],\"started_unix_s\":1.0,\"ended_unix_s\":null,\
                \"debug_build\":false,\"environment\":{}}";
    assert!(is_record(host.as_bytes().to_vec()));
    for other in ["", "{}", "schema program", "[\"schema\",\"program\"]", "{\"schema\":1}"] {
        assert!(!is_record(other.as_bytes().to_vec()), "{other}");
    }
}

#[test]
fn kept_steps_are_known_also_behind_a_torn_line() {
    let origin = StepOrigin { run: "a".into(), session: 0, plan: "b".into(), target: "c".into() };
    let line = KeptStep::new(origin, 0, Step::new("a", "b")).to_line();
    assert!(is_record(line.clone()));
    assert!(is_record([&line[..line.len() / 3], b"\n", &line].concat()));
    assert!(is_record(gzip(&line)));
    let earlier = b"{\"session\":0,\"step\":{\"id\":\"a\",\"metrics\":{}}}\n";
    assert!(is_record(earlier.to_vec()), "of a version before");
}

#[test]
fn a_file_of_ours_is_known_only_whole() {
    let profile = profile_file("name = \"mine\"\n");
    for (mark, whole) in [
        (PROFILE_MARK, profile.as_str()),
        (PAGE_MARK, &format!("{PAGE_MARK}<body></body></html>")),
        (FIGURE_MARK, &format!("{FIGURE_MARK}></svg>\n")),
        (JUNIT_MARK, &format!("{JUNIT_MARK}<testsuites>\n</testsuites>\n")),
        (MARKDOWN_MARK, &format!("{MARKDOWN_MARK}# run\n{MARKDOWN_END}")),
        (CONTEXT_MARK, &format!("{CONTEXT_MARK}\"a\":1}}\n")),
        ("method,figure\n", "method,figure\na,1\n\"b\n\",2\n"),
    ] {
        assert!(is_ours(mark, whole.as_bytes()), "{whole}");
        assert!(!is_ours(mark, format!("{whole}my notes\n").as_bytes()), "{whole}");
        assert!(!is_ours(mark, format!("# mine\n{whole}").as_bytes()), "{whole}");
        assert!(!is_ours(mark, [whole.as_bytes(), b"\xff"].concat().as_slice()), "{whole}");
    }
    let page = format!("{PAGE_MARK}<body></body></html>");
    assert!(!is_page(&page.as_bytes()[..page.len() - 4]), "cut off");
    let edited = profile.replace("mine", "tuned by hand");
    assert!(!is_ours(PROFILE_MARK, edited.as_bytes()));
}
