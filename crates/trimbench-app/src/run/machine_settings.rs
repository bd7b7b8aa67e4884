//! Settings of the machine that move the figures of a physical drive.
//!
//! Published for an NVMe drive: the governor, the drive's states of rest (APST) and the scheduler
//! each move sequential writes by a tenth and their median latency by a fifth. The scheduler and
//! APST are as the distribution sets them, part of what is measured, and `compare` shows where two
//! records differ in them. A governor that saves power and a slow link measure the machine instead
//! of the drive, so they are caveats.

use std::collections::BTreeMap;

use trimbench_core::Caveat;

/// Governors of Linux that lower the clock when there is little to do.
const SAVING: [&str; 4] = ["powersave", "ondemand", "conservative", "schedutil"];

/// The caveats that follow from what was read before a session on physical drives.
pub(super) fn caveats(environment: &BTreeMap<String, String>) -> Vec<Caveat> {
    let governor = environment.get("cpu-governor").map(String::as_str);
    let saves = governor.is_some_and(|it| SAVING.contains(&it));
    let mut links = environment.iter().filter(|(key, _)| is_link(key));
    let is_slow = links.any(|(key, link)| {
        let most = environment.get(&key.replacen("nvme-link", "nvme-link-max", 1));
        most.is_some_and(|most| is_less(link, most))
    });
    let all = [(is_slow, Caveat::SlowLink), (saves, Caveat::PowerSaving)];
    all.into_iter().filter_map(|(holds, caveat)| holds.then_some(caveat)).collect()
}

/// `nvme-link`, `nvme-link-2`, ...
fn is_link(key: &str) -> bool {
    key == "nvme-link"
        || key.strip_prefix("nvme-link-").is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// Whether a link as the kernel writes it (`8.0 GT/s PCIe x4`) is slower or narrower than another.
fn is_less(link: &str, most: &str) -> bool {
    let read = |text: &str| {
        let speed: f64 = text.split(' ').next()?.parse().ok()?;
        let width: u32 = text.rsplit('x').next()?.parse().ok()?;
        Some((speed, width))
    };
    let (Some((speed, width)), Some((best, widest))) = (read(link), read(most)) else {
        return false;
    };
    speed < best || width < widest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(facts: &[(&str, &str)]) -> Vec<Caveat> {
        let facts = facts.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        caveats(&facts.collect())
    }

    #[test]
    fn a_link_below_its_best_and_a_saving_governor_are_caveats() {
        let best = ("nvme-link-max", "16.0 GT/s PCIe x4");
        assert_eq!(found(&[("nvme-link", "16.0 GT/s PCIe x4"), best]), []);
        for link in ["8.0 GT/s PCIe x4", "16.0 GT/s PCIe x2"] {
            assert_eq!(found(&[("nvme-link", link), best]), [Caveat::SlowLink]);
        }
        let second = [("nvme-link-2", "2.5 GT/s PCIe x1"), ("nvme-link-max-2", "8.0 GT/s PCIe x4")];
        assert_eq!(found(&second), [Caveat::SlowLink]);
        assert_eq!(found(&[("cpu-governor", "schedutil")]), [Caveat::PowerSaving]);
        assert_eq!(found(&[("cpu-governor", "performance")]), []);
    }

    #[test]
    fn what_the_kernel_does_not_say_is_no_caveat() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[("nvme-link", "Unknown x63"), ("nvme-link-max", "Unknown")]), []);
    }
}
