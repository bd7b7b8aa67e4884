use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::{Attempts, CAMPAIGNS, Campaign, Run, Sources, TRIES, inputs};
use crate::Repository;

/// Ten attempts, of which the fourth cannot be made before so many tries.
struct Planted {
    tries: AtomicUsize,
    needed: usize,
}

impl Attempts for Planted {
    fn total(&self) -> u64 {
        10
    }

    fn attempt(&self, _: usize, seed: u64, number: u64) -> Result<Map<String, Value>> {
        if number == 4 && self.tries.fetch_add(1, Ordering::Relaxed) + 1 < self.needed {
            bail!("planted");
        }
        Ok(Map::from_iter([("product".to_owned(), (seed * number).into())]))
    }
}

const CAMPAIGN: Campaign = Campaign { id: "planted.1", workers: 2, ..inputs::CAMPAIGN };

/// What the attempts come to, and the numbers of those that were kept.
fn make(needed: usize) -> (Result<()>, BTreeSet<u64>) {
    let attempts = Planted { tries: AtomicUsize::new(0), needed };
    let run = Run { campaign: &CAMPAIGN, attempts: &attempts, seed: 3, until: None };
    let kept = Mutex::new(BTreeSet::new());
    let result = run.make(&[0, 1, 2, 4, 9], |number, line| {
        assert_eq!(line["product"], 3 * number);
        assert!(kept.lock().unwrap().insert(number), "each once");
        Ok(())
    });
    (result, kept.into_inner().unwrap())
}

#[test]
fn each_attempt_that_is_asked_for_is_kept_once() {
    for needed in [1, TRIES] {
        let (result, kept) = make(needed);
        result.unwrap();
        assert_eq!(kept, BTreeSet::from([0, 1, 2, 4, 9]));
    }
}

#[test]
fn an_attempt_that_can_never_be_made_stops_the_campaign_and_is_named() {
    let (result, kept) = make(TRIES + 1);
    let error = format!("{:#}", result.unwrap_err());
    assert_eq!(error, "attempt 4: planted");
    assert!(!kept.contains(&4));
}

#[test]
fn every_campaign_is_about_sources_that_exist() {
    let repository = Repository::here().unwrap();
    let ids: BTreeSet<&str> = CAMPAIGNS.iter().map(|campaign| campaign.id).collect();
    assert_eq!(ids.len(), CAMPAIGNS.len());
    for campaign in CAMPAIGNS {
        assert!(campaign.workers > 0);
        Sources::read(&repository, campaign.sources).unwrap();
    }
}
