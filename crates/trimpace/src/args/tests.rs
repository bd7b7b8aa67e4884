use clap::error::ErrorKind;
use jiff::civil::date;
use jiff::tz::TimeZone;

use super::*;

fn parse(arguments: &[&str]) -> Result<CommandLine, clap::Error> {
    CommandLine::try_parse_from([&["trimpace"], arguments].concat())
}

fn once(arguments: &[&str]) -> OnceArgs {
    let parsed = parse(&[&["once"], arguments].concat());
    match parsed.unwrap_or_else(|error| panic!("{arguments:?}: {error}")).command {
        PaceCommand::Once(once) => *once,
        other => panic!("{other:?}"),
    }
}

fn refused(arguments: &[&str]) -> ErrorKind {
    parse(&[&["once"], arguments].concat()).map(drop).unwrap_err().kind()
}

#[test]
fn the_definitions_are_consistent() {
    use clap::CommandFactory as _;
    CommandLine::command().debug_assert();
}

#[test]
fn options_of_fstrim_are_taken_as_fstrim_takes_them() {
    // As in fstrim.service of util-linux.
    let args = once(&[
        "--listed-in",
        "/etc/fstab:/proc/self/mountinfo",
        "--verbose",
        "--quiet-unsupported",
    ]);
    let files = ["/etc/fstab", "/proc/self/mountinfo"].map(PathBuf::from).to_vec();
    assert_eq!(args.which(), WhichMounts::ListedIn(files));
    assert!(args.verbose && args.quiet_unsupported && !args.dry_run);
    let args = once(&["-anv", "-v", "-o", "1M", "-l2GB", "-m", "4096", "-t", "noext4,vfat"]);
    assert_eq!(args.which(), WhichMounts::All);
    assert!(args.dry_run && args.verbose);
    assert_eq!((args.offset, args.length), (Bytes::mib(1), Some(Bytes(2_000_000_000))));
    assert_eq!((args.minimum, args.types.as_deref()), (Some(Bytes(4096)), Some("noext4,vfat")));
    let args = once(&["-A"]);
    assert_eq!((args.which(), args.offset, args.length), (WhichMounts::Fstab, Bytes(0), None));
    let args = once(&["/srv", "-v"]);
    assert_eq!(args.which(), WhichMounts::Named(PathBuf::from("/srv")));
    assert_eq!(args.request(), TrimRequest::Named { quiet_unsupported: false });
    let version = parse(&["once", "-V"]).map(drop).unwrap_err().kind();
    assert_eq!(version, ErrorKind::DisplayVersion);
}

#[test]
fn what_contradicts_itself_is_refused() {
    for arguments in [
        &["-a", "-A"][..],
        &["-a", "/srv"],
        &["-A", "-I", "/etc/fstab"],
        &["-a", "--cover", "99%", "-m", "1M"],
        &["-a", "--p99", "2ms", "--share", "1%"],
    ] {
        assert_eq!(refused(arguments), ErrorKind::ArgumentConflict, "{arguments:?}");
    }
    assert_eq!(refused(&[]), ErrorKind::MissingRequiredArgument);
    assert_eq!(refused(&["/srv", "/home"]), ErrorKind::UnknownArgument);
    for arguments in [
        ["--p99", "0ms"],
        ["--p99", "2"],
        ["--share", "0%"],
        ["--share", "101%"],
        ["--cover", "0%"],
        ["--deadline", "24:00"],
        ["--piece", "0"],
        ["--minimum", "-1"],
    ] {
        let kind = refused(&[&["-a"][..], &arguments].concat());
        let expected = [ErrorKind::ValueValidation, ErrorKind::UnknownArgument];
        assert!(expected.contains(&kind), "{arguments:?} {kind:?}");
    }
}

#[test]
fn a_law_takes_its_own_values_only() {
    let law = |arguments: &[&str]| once(&[&["-a"], arguments].concat()).chosen_law(None);
    assert_eq!(law(&[]), Ok(LawChoice::Tail { target: None, deadline: None }));
    assert_eq!(law(&["--law", "plain"]), Ok(LawChoice::Plain));
    assert_eq!(law(&["--law=pieces"]), Ok(LawChoice::Pieces(Bytes::mib(4))));
    let (chunk, delay) = (Bytes::mib(128), Nanos::from_millis(500));
    let talos = law(&["--law=talos", "--chunk", "128MiB", "--delay", "500ms"]);
    assert_eq!(talos, Ok(LawChoice::Chunks { chunk, delay }));
    assert_eq!(law(&["--law=mean"]), Ok(LawChoice::Mean { chunk: Bytes::gib(1) }));
    for (arguments, option) in [
        (&["--piece", "1M"][..], "--piece"),
        (&["--law=pieces", "--chunk", "1G"], "--chunk"),
        (&["--law=mean", "--delay", "1s"], "--delay"),
        (&["--law=plain", "--p99", "2ms"], "--p99"),
        (&["--law=pieces", "--share", "1%"], "--share"),
        (&["--law=talos", "--deadline", "2h"], "--deadline"),
        (&["--law=mean", "--p99", "2ms"], "--p99"),
    ] {
        let error = law(arguments).unwrap_err();
        assert_eq!(error.option, option);
        // Both are named.
        let said = error.to_string();
        assert!(said.contains(option) && said.contains(error.law), "{said}");
        assert!(said.contains("no effect"), "{said}");
    }
    for option in [["--p99", "2ms"], ["--share", "1%"], ["--deadline", "2h"]] {
        assert!(law(&option).is_ok(), "{option:?}");
    }
}

#[test]
fn sizes_are_those_of_strtosize() {
    for (text, expected) in [
        ("0", 0),
        ("4096", 4096),
        ("0x10", 16),
        ("010", 8),
        (" +7", 7),
        ("1K", 1024),
        ("1k", 1024),
        ("1KiB", 1024),
        ("1kib", 1024),
        ("1KB", 1000),
        ("1kb", 1000),
        ("1M", 1 << 20),
        ("3MB", 3_000_000),
        ("1.5G", 3 << 29),
        ("0.5MB", 500_000),
        ("1.K", 1024),
        ("1.05KB", 1050),
        ("0.3K", 307),
        ("15E", 15 << 60),
        ("0Y", 0),
        ("512B", 512),
    ] {
        assert_eq!(fstrim_size(text), Ok(Bytes(expected)), "{text}");
    }
    for text in ["", "-1", "K", "1.5", "1.", "08", "1Ki", "1KiBs", "1 K", "1X", "1.5.5K", "0x", "."]
    {
        assert!(matches!(fstrim_size(text), Err(SizeError::Form { .. })), "{text}");
    }
    for text in ["16E", "18446744073709551616", "1Y", "0.9Y"] {
        assert!(matches!(fstrim_size(text), Err(SizeError::OutOfRange { .. })), "{text}");
    }
    assert_eq!(fstrim_size("18446744073709551615"), Ok(Bytes(u64::MAX)));
}

#[test]
fn a_deadline_is_a_time_of_day_or_a_duration() {
    for (text, expected) in [
        ("06:00", Some(PassDeadline::Clock { hour: 6, minute: 0 })),
        ("6:05", Some(PassDeadline::Clock { hour: 6, minute: 5 })),
        ("23:59", Some(PassDeadline::Clock { hour: 23, minute: 59 })),
        ("2h", Some(PassDeadline::After(Nanos::from_secs(7_200)))),
        ("90min", Some(PassDeadline::After(Nanos::from_secs(5_400)))),
        ("6:5", None),
        ("24:00", None),
        ("12:60", None),
        ("+6:00", None),
        ("06:00:00", None),
        ("6", None),
        ("", None),
    ] {
        assert_eq!(text.parse().ok(), expected, "{text}");
    }
}

#[test]
fn a_time_of_day_is_the_next_one_also_when_clocks_change() {
    // The rules of central Europe, without a database: clocks change on 2027-03-28 and 2027-10-31.
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let at = |month, day, hour, minute| {
        date(2027, month, day).at(hour, minute, 0, 0).to_zoned(zone.clone()).unwrap()
    };
    let six = PassDeadline::Clock { hour: 6, minute: 0 };
    let hours = |hours: u64| Nanos::from_secs(hours * 3_600);
    assert_eq!(six.remaining(&at(5, 10, 3, 0)), hours(3));
    assert_eq!(six.remaining(&at(5, 10, 22, 0)), hours(8));
    assert_eq!(six.remaining(&at(5, 10, 6, 0)), hours(24), "now is not the next");
    assert_eq!(six.remaining(&at(3, 27, 22, 0)), hours(7), "an hour is skipped");
    assert_eq!(six.remaining(&at(10, 30, 22, 0)), hours(9), "an hour comes twice");
    // 02:30 does not exist on that day: it is 03:30 of the new time.
    let skipped = PassDeadline::Clock { hour: 2, minute: 30 };
    assert_eq!(skipped.remaining(&at(3, 28, 1, 0)), Nanos::from_secs(5_400));
    assert_eq!(PassDeadline::After(hours(2)).remaining(&at(5, 10, 3, 0)), hours(2));
}
