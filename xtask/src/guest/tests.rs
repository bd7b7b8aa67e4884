use std::time::Duration;

use super::{GuestDisk, GuestOutput, last_lines, last_words};

#[test]
fn a_disk_is_read_from_its_text() {
    let read = |text: &str| text.parse::<GuestDisk>();
    assert_eq!(read("256MiB").unwrap(), GuestDisk::of_mib(256));
    let nvme = GuestDisk { size_mib: 2048, discard: false, nvme: true };
    assert_eq!(read("2GiB,nvme,discard=ignore").unwrap(), nvme);
    for wrong in ["", "256", "256M", "0MiB", "-1MiB", "9999999GiB", "1GiB,", "1GiB,discard=on"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_script_that_fails_or_hangs_is_told_with_what_it_printed() {
    let output = |status| GuestOutput {
        status,
        stdout: "the last word".to_owned(),
        stderr: "a complaint".to_owned(),
        console: "the kernel's".to_owned(),
        elapsed: Duration::from_secs(7),
        allocated_bytes: Vec::new(),
    };
    assert!(output(Some(0)).checked().is_ok());
    let failed = output(Some(3)).checked().unwrap_err().to_string();
    for part in ["status 3", "the last word", "a complaint", "the kernel's"] {
        assert!(failed.contains(part), "{failed}");
    }
    let hung = output(None).checked().unwrap_err().to_string();
    assert!(hung.contains("did not end within 7.0 s"), "{hung}");
}

#[test]
fn only_the_last_lines_are_shown() {
    let long: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let long = long.join("\n");
    let shown = last_lines(&long);
    assert!(shown.starts_with("75\n") && shown.ends_with("99"), "{shown}");
    assert_eq!(last_lines(""), "");
}

#[test]
fn why_a_kernel_died_is_shown_however_much_it_says_afterwards() {
    let lines = |word: &str| format!("{word}\n").repeat(100);
    let shown =
        last_words(&format!("{}cause\nKernel panic - not syncing\n{}", lines("a"), lines("b")));
    assert!(shown.contains("a\ncause\nKernel panic - not syncing\nb\n"), "{shown}");
    assert!(shown.lines().count() <= 25, "{shown}");
    assert_eq!(last_words("boot\nKernel panic"), "boot\nKernel panic");
    assert_eq!(last_words("boot\nhang"), "boot\nhang");
}
