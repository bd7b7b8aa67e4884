use trimbench_results::{Session, Step};

use super::{AT_ONCE, BACKGROUND, read, work};
use crate::acceptance::planted::{Planted, failing, record, session};

const GIB: f64 = (1_u64 << 30) as f64;

/// Nine points whose settling times are `off` slices from the closed form, and 0 where that is.
fn surface(name: &str, off: f64) -> Session {
    let slice = 0.005;
    let (mut figures, mut steps) = (Vec::new(), Vec::new());
    for trimmed in [25.0, 50.0, 100.0] {
        for written in [0.0, 50.0, 100.0] {
            let mut step = Step::new(format!("trimmed-{trimmed}-written-{written}"), "point");
            step.set("range_bytes", GIB * trimmed / 50.0);
            step.set("written_bytes", GIB * written / 50.0);
            step.set("slice_s", slice);
            let (work, settles) = work(name, &step).unwrap();
            step.measure("trim_s", work);
            let after = if name == AT_ONCE || settles == 0.0 { 0.0 } else { settles + off * slice };
            figures.push((format!("settling-{}", step.id), after));
            steps.push(step);
        }
    }
    let longest = figures.iter().map(|(_, after)| *after).fold(0.0, f64::max);
    figures.push(("settle".to_owned(), longest));
    for (id, value) in [("settle-twin", 0.0), ("settle-lost", 0.1), ("settle-slowest", 0.7)] {
        figures.push((id.to_owned(), value));
    }
    let figures: Vec<(&str, f64)> = figures.iter().map(|(id, it)| (id.as_str(), *it)).collect();
    Session { steps, ..session(name, &figures) }
}

fn planted(off: f64, change: impl Fn(&mut Session)) -> Planted {
    let planted = Planted::new();
    for name in [BACKGROUND[0].0, BACKGROUND[1].0, AT_ONCE] {
        let mut session = surface(name, off);
        change(&mut session);
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session]));
    }
    planted
}

fn failed(planted: &Planted) -> Vec<String> {
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_surface_within_its_slices_holds() {
    for off in [-0.99, 0.0, 1.99] {
        assert_eq!(failed(&planted(off, |_| ())), Vec::<String>::new(), "{off}");
    }
}

#[test]
fn each_figure_can_miss_its_bar() {
    let one = |off: f64, change: &dyn Fn(&mut Session)| failed(&planted(off, change)).join(", ");
    assert!(one(-1.01, &|_| ()).contains("earliest"));
    assert!(one(2.01, &|_| ()).contains("latest"));
    let set = |id: &'static str, value: f64| {
        move |session: &mut Session| {
            let figure = session.figures.iter_mut().find(|figure| figure.id == id).unwrap();
            figure.value = value;
        }
    };
    // vendor6 may be slow in its first slice, of 5 ms here.
    assert_eq!(one(0.0, &set("settle-twin", 0.005)).matches("twins").count(), 1);
    assert_eq!(one(0.0, &set("settle-twin", 0.01)).matches("twins").count(), 2);
    let at_once = one(0.0, &set("settling-trimmed-25-written-0", 0.2));
    assert!(at_once.contains("generic-sata-tlc: longest"), "{at_once}");
    let quick = one(0.0, &|session| {
        session.steps.iter_mut().for_each(|step| step.measure("trim_s", 1e-6));
    });
    assert!(quick.contains("least time of a TRIM"), "{quick}");
}

#[test]
fn a_point_that_is_missing_is_an_error() {
    let planted = planted(0.0, |session| {
        session.steps.pop();
    });
    assert!(read(&planted.raw()).unwrap_err().to_string().contains("8 points"));
}
