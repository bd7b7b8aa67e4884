use std::fmt::Write as _;

use trimbench_core::{Bytes, Interrupt};

use super::*;
use crate::twin::TwinPoint;

/// Short sessions that tell of programs and TRIMs, and hardly of erases.
const SESSIONS: [(&str, &str, &[&str]); 2] = [
    (
        "steady-state",
        "span=256MiB precondition=100% rounds-max=10 trimmed-shares=0",
        &["steady-iops", "write-amplification"],
    ),
    (
        "trim-sweep",
        "sizes=4KiB,16MiB commands=20 queue-depths=1 load-time=100ms unaligned=no",
        &["command-cost", "cost-per-gb-mapped", "trim-p50"],
    ),
];
const BASE: &str = "plain-nvme-tlc,trim.mode=queued";
const TRUTH: [(&str, &str); 3] =
    [("nand.program", "900us"), ("trim.command", "150us"), ("trim.per_gib_mapped", "8ms")];

fn outside<'a>(interrupt: &'a Interrupt, ended: &'a (dyn Fn() + Sync)) -> Outside<'a> {
    Outside { jobs: 2, interrupt, ended }
}

/// The table of figures that the drive with these values gives.
fn table(seed: u64) -> String {
    let header = "method,options,figure,value,unit\n";
    let mut empty = Observations::default();
    let mut text = header.to_owned();
    for (method, options, figures) in SESSIONS {
        for figure in figures {
            let unit = unit_of(method, figure);
            let _ = writeln!(text, "{method},\"{options}\",{figure},1,{unit}");
        }
    }
    empty.add_table("", &text).unwrap();
    let truth = TRUTH.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let drive = format!("{BASE}{}", twin::settings_text(&truth));
    let twin = Twin::new(&drive, Bytes::gib(1), Vec::new(), empty.sessions).unwrap();
    let interrupt = Interrupt::default();
    let points = [TwinPoint { coordinates: Vec::new(), seed }];
    let found = twin.run(&points, outside(&interrupt, &|| {})).unwrap();
    let mut text = header.to_owned();
    for ((method, options, figures), session) in SESSIONS.into_iter().zip(&found[0]) {
        let session = session.as_ref().unwrap();
        for figure in figures {
            let (value, unit) = (session[*figure], unit_of(method, figure));
            let _ = writeln!(text, "{method},\"{options}\",{figure},{value},{unit}");
        }
    }
    text
}

fn unit_of(method: &str, figure: &str) -> &'static str {
    let method = trimbench_methods::METHODS.iter().find(|it| it.id == method).unwrap();
    let resolved = method
        .resolve(trimbench_engine::Preset::Quick, &std::collections::BTreeMap::new())
        .unwrap();
    resolved.method.metrics().iter().find(|metric| metric.id == figure).unwrap().unit
}

#[test]
fn hidden_values_are_found_again_and_what_no_figure_tells_of_is_named() {
    let mut observations = Observations::default();
    observations.add_table("hidden", &table(77)).unwrap();
    let keys = TRUTH.iter().map(|(key, _)| *key).chain(["nand.erase"]);
    let parameters: Vec<Parameter> = keys.map(|key| key.parse().unwrap()).collect();
    let sessions = observations.sessions.clone();
    let twin = Twin::new(BASE, Bytes::gib(1), parameters, sessions).unwrap();
    let interrupt = Interrupt::default();
    let options = FitOptions { seed: 1 };
    let fit = fit(&twin, &observations, options, outside(&interrupt, &|| {})).unwrap();
    for (key, truth) in TRUTH {
        let found = fit.parameters.iter().find(|it| it.key == key).unwrap();
        let truth = truth.parse::<trimbench_core::Nanos>().unwrap().0 as f64;
        let [best, low, high] = found.numbers;
        assert!((best / truth).ln().abs() < 0.05, "{found:?}");
        assert!(low <= truth * 1.02 && truth <= high * 1.02, "{found:?}");
    }
    let erase = fit.parameters.iter().find(|it| it.key == "nand.erase").unwrap();
    assert_ne!(erase.determined, "yes", "{erase:?}");
    assert!(fit.contradictions().is_empty(), "{:?}", fit.contradictions());
    let profile = trimbench_ssd::Profile::parse(&fit.profile("twin")).unwrap();
    assert_eq!(profile.provenance.fitted, 3);
}

#[test]
fn a_table_that_is_wrong_is_refused_with_its_line() {
    let refused = |rows: &str, expected: &str| {
        let text = format!("method,figure,value,unit,options,percent\n{rows}\n");
        let error = Observations::default().add_table("drive", &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused("steady-stat,steady-iops,1,IOPS,,", "line 2 of the table: no method `steady-stat`");
    refused("steady-state,steady-iop,1,IOPS,,", "did you mean `steady-iops`?");
    refused("steady-state,steady-iops,1,MB/s,,", "is in `IOPS`, not in `MB/s`");
    refused("steady-state,steady-iops,0,IOPS,,", "must be above 0");
    refused("steady-state,steady-iops,fast,IOPS,,", "line 2");
    refused("steady-state,steady-iops,1,IOPS,spam=1GiB,", "no option `spam`");
    refused("steady-state,steady-iops,1,IOPS,,200", "`percent` is between 0 and 100");
    refused("steady-state,round-1.iops,1,IOPS,,", "leave `unit` empty");
    refused(
        "steady-state,steady-iops,1,IOPS,,\nsteady-state,steady-iops,2,IOPS,,",
        "is given twice, as 1 and 2",
    );
}

#[test]
fn figures_may_be_of_steps_and_of_what_lies_over_the_drive() {
    let options = "number=200 transactions=200 repetitions=1 bufferings=one mounts=discard";
    let text = format!(
        "target,method,options,figure,value,unit\n\
         ext4,postmark,{options},duration-of-transactions-discard-buffered,1,s\n\
         ext4,postmark,{options},discard-buffered-1.creation_s,1,\n\
         ,postmark,{options},duration-of-transactions-discard-buffered,1,s\n"
    );
    let mut observations = Observations::default();
    observations.add_table("drive", &text).unwrap();
    // The same session twice, and another on the drive itself, which has no files.
    assert_eq!(observations.sessions.len(), 2);
    let sessions = observations.sessions;
    let twin = Twin::new("plain-nvme-tlc", Bytes::gib(1), Vec::new(), sessions).unwrap();
    let interrupt = Interrupt::default();
    let points = [TwinPoint { coordinates: Vec::new(), seed: 1 }];
    let found = twin.run(&points, outside(&interrupt, &|| {})).unwrap().remove(0);
    let files = found[0].as_ref().unwrap();
    assert!(files["discard-buffered-1.creation_s"] > 0.0, "{files:?}");
    assert!(files["duration-of-transactions-discard-buffered"] > 0.0, "{files:?}");
    assert!(found[1].is_err(), "{:?}", found[1]);
    let over = |target: &str| {
        let row = format!("{target},steady-state,steady-iops,1,IOPS");
        let text = format!("target,method,figure,value,unit\n{row}\n");
        Observations::default().add_table("drive", &text).unwrap_err().to_string()
    };
    assert!(over("ext5").contains("line 2 of the table: target `ext5`"), "{}", over("ext5"));
    assert!(over("/dev").contains("target `/dev`"), "{}", over("/dev"));
}

#[test]
fn parameters_have_the_units_and_ranges_of_their_keys() {
    for parameter in Parameter::usual() {
        let (low, high) = parameter.range();
        for value in [low, (low * high).sqrt(), high] {
            let near = parameter.value(parameter.coordinate(value));
            assert!((near / value).ln().abs() < 1e-4, "{parameter:?} {value} {near}");
        }
        let at = parameter.coordinate((low * high).sqrt());
        let moved = (parameter.value(at + 1e-4) / parameter.value(at)).ln() / 1e-4;
        assert!((moved / parameter.slope(at) - 1.0).abs() < 1e-3, "{parameter:?}");
    }
    let text = |key: &str, value| key.parse::<Parameter>().unwrap().text(value);
    assert_eq!(text("nand.read", 61_234.6), "61230ns");
    assert_eq!(text("drive.over_provisioning", 73_712.0), "7.371%");
    assert_eq!(text("drive.write_buffer=1MiB..1GiB", 67_108_864.0), "67110000B");
    let error = |text: &str| text.parse::<Parameter>().unwrap_err().to_string();
    assert_eq!(error("nand.raed"), "a profile has no `nand.raed`; did you mean `nand.read`?");
    assert!(error("geometry.dies").contains("is no time, size or ratio"));
    assert!(error("host.jitter").contains("write `host.jitter=LOW..HIGH`"));
    assert!(error("nand.read=9us..3us").contains("is no range"));
    assert!(error("nand.read=9us").contains("is no range"));
}

#[test]
fn what_cannot_be_fitted_is_refused_before_anything_is_searched_for() {
    let twin = |base: &str, keys: &[&str]| {
        let parameters = keys.iter().map(|key| key.parse().unwrap()).collect();
        Twin::new(base, Bytes::gib(1), parameters, Vec::new()).unwrap_err().to_string()
    };
    assert!(twin("plain-nvme-tlc", &["nand.read", "nand.read"]).contains("named twice"));
    assert!(twin("plain-nvme-tlc,nand.read=9us", &["nand.read"]).contains("the base sets it"));
    assert!(twin("plain-nvme-tl", &["nand.read"]).contains("did you mean `plain-nvme-tlc`?"));
    assert!(twin("plain-nvme-tlc", &["slc_cache.program=1us..1ms"]).contains("the base has no"),);
    let mut few = Observations::default();
    few.add_table("x", "method,figure,value,unit\nsteady-state,steady-iops,9000,IOPS\n").unwrap();
    let parameters = ["nand.program", "nand.read"].map(|key| key.parse().unwrap()).into();
    let twin = Twin::new("plain-nvme-tlc", Bytes::gib(1), parameters, few.sessions.clone());
    let interrupt = Interrupt::default();
    let options = FitOptions { seed: 1 };
    let error = fit(&twin.unwrap(), &few, options, outside(&interrupt, &|| {})).unwrap_err();
    assert!(error.to_string().contains("1 figures cannot determine 2 values"), "{error}");
    few.set_aside("steady-stat").unwrap_err();
    few.set_aside("steady-state").unwrap();
}

#[test]
fn a_figure_that_no_values_come_near_is_named_beside_what_comes_nearest() {
    let mut far = Observations::default();
    let options = "span=64MiB rounds-max=5 trimmed-shares=0";
    let row = format!("steady-state,{options},steady-iops,1,IOPS");
    far.add_table("x", &format!("method,options,figure,value,unit\n{row}\n")).unwrap();
    let program = vec!["nand.program".parse().unwrap()];
    let twin = Twin::new("plain-nvme-tlc", Bytes::gib(1), program, far.sessions.clone()).unwrap();
    let (interrupt, options) = (Interrupt::default(), FitOptions { seed: 1 });
    let fit = fit(&twin, &far, options, outside(&interrupt, &|| {})).unwrap();
    let contradictions = fit.contradictions();
    assert_eq!(contradictions.len(), 1, "{fit:?}");
    assert_eq!(contradictions[0].name, "steady-state.steady-iops");
    assert_ne!(fit.parameters[0].determined, "yes", "{:?}", fit.parameters);
}

#[test]
fn a_figure_that_is_too_far_off_to_be_fitted_to_contradicts_those_that_are_met() {
    let table = table(78);
    let (others, last) = table.trim_end().rsplit_once('\n').unwrap();
    let cells: Vec<&str> = last.rsplitn(3, ',').collect();
    let (unit, value, row) = (cells[0], cells[1].parse::<f64>().unwrap(), cells[2]);
    let mut observations = Observations::default();
    let text = format!("{others}\n{row},{},{unit}\n", value / 100.0);
    observations.add_table("far", &text).unwrap();
    let parameters = TRUTH.map(|(key, _)| key.parse().unwrap()).into();
    let sessions = observations.sessions.clone();
    let twin = Twin::new(BASE, Bytes::gib(1), parameters, sessions).unwrap();
    let (interrupt, options) = (Interrupt::default(), FitOptions { seed: 1 });
    let fit = fit(&twin, &observations, options, outside(&interrupt, &|| {})).unwrap();
    assert!(fit.error < 0.02, "{fit:?}");
    let contradictions = fit.contradictions();
    assert_eq!(contradictions.len(), 1, "{fit:?}");
    assert_eq!(contradictions[0].name, "trim-sweep.trim-p50");
    assert_eq!(contradictions[0].used, Use::TooFarOff);
    assert!((contradictions[0].error().unwrap() - 100_f64.ln()).abs() < 0.1, "{contradictions:?}");
    assert!(fit.left_out.is_empty(), "{:?}", fit.left_out);
}

#[test]
fn the_methods_that_determine_the_values_in_the_least_time_are_chosen() {
    let candidate = |number: usize, seconds| {
        let (id, options, _) = SESSIONS[number];
        let method = trimbench_methods::METHODS.iter().find(|it| it.id == id).unwrap();
        let options = options.split(' ').map(|pair| pair.split_once('=').unwrap());
        let options = options.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let session = TwinSession::preset(method, &options).unwrap();
        let time = trimbench_core::Nanos::from_secs(seconds);
        Candidate { session, time, written: Bytes::gib(1) }
    };
    let candidates = [candidate(0, 10), candidate(1, 50), candidate(1, 5)];
    let interrupt = Interrupt::default();
    let chosen = |keys: &[&str]| {
        let parameters = keys.iter().map(|key| key.parse().unwrap()).collect();
        let twin = Twin::new(BASE, Bytes::gib(1), parameters, Vec::new()).unwrap();
        choose(&twin, &candidates, (1, outside(&interrupt, &|| {}))).unwrap()
    };
    assert_eq!(chosen(&["trim.command"]).chosen, [2]);
    assert_eq!(chosen(&["nand.program"]).chosen, [0]);
    let both = chosen(&["nand.program", "trim.command"]);
    assert_eq!(both.chosen, [0, 2]);
    for (key, by_chosen, by_all) in &both.determined {
        assert_eq!((*by_chosen, *by_all), (both.places, both.places), "{key}");
    }
}
