use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};

use super::*;
use crate::ssd::tests::plain;

/// Pages of 1,024 entries; the last of the 17 has one unit.
const PAGES: u64 = 17;
const UNITS: u32 = 16 * 1_024 + 1;

fn cache(frames: u64) -> MappingCache {
    let cache = MappingCacheConfig {
        size: Bytes(frames * 4_096),
        page: Bytes(4_096),
        read: Nanos::ZERO,
        program: Nanos::ZERO,
    };
    let capacity = Bytes(u64::from(UNITS) * 4_096);
    MappingCache::new(&cache, &SsdConfig { capacity, mapping_cache: Some(cache), ..plain() })
}

/// The same of a drive that is full, with these pages cached, the last one last.
fn full(frames: u64, cached: &[u32]) -> MappingCache {
    let mut cache = cache(frames);
    cache.rest(&mapped());
    for &page in cached {
        fetch(&mut cache, page);
    }
    cache
}

/// A map all of whose entries are in use.
fn mapped() -> Vec<u32> {
    vec![0; UNITS as usize]
}

fn fetch(cache: &mut MappingCache, page: u32) -> Option<u32> {
    cache.expect(page, Slot(0));
    cache.arrive(page)
}

#[test]
fn the_least_recently_used_page_goes_as_in_a_plain_list() {
    let mut rng = Rng::new(9);
    let mut cache = full(5, &[]);
    let mut list: VecDeque<(u32, bool)> = VecDeque::new();
    for _ in 0..10_000 {
        let (page, updates) = (narrow(rng.below(PAGES)), rng.below(3) == 0);
        let known = list.iter().position(|&(other, _)| other == page);
        let expected = if known.is_some() { PageLookup::Cached } else { PageLookup::OnFlash };
        assert_eq!(cache.reach(page, updates), expected);
        let mut gone = None;
        let updated = if let Some(position) = known {
            list.remove(position).unwrap().1
        } else {
            let oldest = if list.len() == 5 { list.pop_front() } else { None };
            gone = oldest.and_then(|(page, updated)| updated.then_some(page));
            assert_eq!(fetch(&mut cache, page), gone);
            cache.reach(page, updates);
            false
        };
        list.push_back((page, updated || updates));
        assert!(gone.is_none_or(|gone| cache.places[gone as usize] == Place::Flash));
    }
    cache.check(&mapped());
}

#[test]
fn a_trim_reads_what_it_frees_and_keeps_what_it_frees_in_part() {
    let whole = Trimmed { loads: true, writes_back: None };
    let nothing = Trimmed::default();
    // Page 3 is cached and updated, the others are on flash.
    let fresh = || {
        let mut cache = full(1, &[3]);
        cache.reach(3, true);
        cache
    };
    let mut cache = fresh();
    assert_eq!(cache.trim(1, &(1_024..2_048)), whole);
    assert_eq!(cache.trim(1, &(1_024..2_048)), nothing, "it is nowhere now");
    assert_eq!(cache.reach(1, false), PageLookup::Nowhere);
    let pushed_out = Trimmed { loads: true, writes_back: Some(3) };
    assert_eq!(cache.trim(2, &(2_049..9_000)), pushed_out, "the first unit stays");
    assert_eq!(fresh().trim(2, &(2_000..3_071)), pushed_out, "the last unit stays");
    // What is cached needs no read, and no program where nothing of it is left.
    let mut cache = fresh();
    assert_eq!(cache.trim(3, &(3_072..4_096)), nothing);
    assert_eq!(fetch(&mut cache, 4), None);
    // The last page has fewer units than the others.
    let mut cache = fresh();
    assert_eq!(cache.trim(16, &(0..UNITS)), whole);
    assert_eq!(cache.reach(16, false), PageLookup::Nowhere);
    assert_eq!(fresh().trim(15, &(0..UNITS - 2)), pushed_out);
    // What is on its way is updated when it comes.
    let mut cache = full(1, &[]);
    cache.expect(5, Slot(7));
    assert_eq!(
        (cache.trim(5, &(0..UNITS)), cache.reach(5, false)),
        (nothing, PageLookup::Loading(Slot(7)))
    );
    assert_eq!((cache.arrive(5), fetch(&mut cache, 6)), (None, Some(5)));
}

#[test]
fn a_collection_reads_each_page_once_that_is_not_cached() {
    let mut cache = full(2, &[0, 1]);
    cache.expect(4, Slot(0));
    for expected in [Some(2), Some(2)] {
        cache.begin_collection();
        let found = [5, 1_024, 2_048, 2_049, 5_000, 3_071].map(|lpn| cache.moved(lpn));
        assert_eq!(found, [None, None, expected, None, None, None]);
    }
    // The others are updated where they are.
    assert_eq!([cache.arrive(4), fetch(&mut cache, 5)], [Some(0), Some(1)]);
    assert_eq!(fetch(&mut cache, 6), Some(4));
}

#[test]
#[should_panic(expected = "translation page 2 is somewhere")]
fn a_page_that_is_lost_is_found() {
    let mut cache = full(2, &[]);
    cache.places[2] = Place::Nowhere;
    cache.check(&mapped());
}
