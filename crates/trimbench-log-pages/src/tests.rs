//! Pages built from the public structures, not from our tables; and damaged pages.

mod attributes;
mod damaged;
mod structures;
mod telemetry;
mod typed;

use std::collections::BTreeSet;

use crate::{LogPage, pages_for};

/// Every page of an NVMe drive, once.
fn all_pages() -> Vec<&'static LogPage> {
    let drives =
        [(0x1344, 0), (0x1344, 0x6001), (0x1c5f, 0), (0x025e, 0), (0x144d, 0), (0x1b96, 0)];
    let mut pages: Vec<&'static LogPage> = Vec::new();
    for (vendor, device) in drives {
        for page in pages_for(vendor, device, "") {
            if pages.iter().all(|known| known.id != page.id) {
                pages.push(page);
            }
        }
    }
    pages.push(&crate::ocp::telemetry::OCP_TELEMETRY);
    pages.extend(crate::ata::statistics::ATA_STATISTICS.iter().map(|statistics| statistics.page));
    pages
}

fn is_kebab_case(name: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.split('-').all(|word| !word.is_empty() && word.chars().all(lower))
}

#[test]
fn tables_have_unique_names_and_fields_that_do_not_overlap() {
    for page in all_pages() {
        assert!(is_kebab_case(page.id) && !page.title.is_empty(), "{}", page.id);
        assert!(page.length.is_multiple_of(4), "{}: Get Log Page counts in dwords", page.id);
        for layout in page.layouts {
            let mut names = BTreeSet::new();
            let mut taken = vec![false; page.length];
            let fixed = layout.fields.iter().copied().flatten();
            for field in fixed {
                assert!(names.insert(field.name), "{}: {} twice", page.id, field.name);
                assert!(is_kebab_case(field.name), "{}: {}", page.id, field.name);
                let bytes = &mut taken[field.at..field.at + field.width];
                assert!(!bytes.contains(&true), "{}: {} overlaps", page.id, field.name);
                bytes.fill(true);
            }
            let Some(area) = layout.attributes else { continue };
            assert!(area.length <= page.length, "{}", page.id);
            for attribute in area.known {
                for field in attribute.fields {
                    assert!(names.insert(field.name), "{}: {} twice", page.id, field.name);
                    assert!(is_kebab_case(field.name), "{}: {}", page.id, field.name);
                    assert!(field.at + field.width <= area.item, "{}: {}", page.id, field.name);
                }
            }
        }
    }
}

#[test]
fn a_vendor_is_asked_for_its_own_pages_only() {
    let ids = |vendor, device, model| {
        pages_for(vendor, device, model).iter().map(|page| page.id).collect::<Vec<_>>()
    };
    let standard = ["nvme-smart", "ocp-smart", "ocp-boot-ssd-smart", "ocp-latency-monitor"];
    assert_eq!(ids(0x1e0f, 0, "KIOXIA"), standard);
    assert_eq!(
        ids(0x1344, 0x51c0, "")[4..],
        ["micron-fb-smart", "micron-fb-smart-packed", "micron-latency"]
    );
    assert_eq!(ids(0x1344, 0x6004, "")[4..], ["micron-workload"]);
    assert_eq!(ids(0x144d, 0, "")[4..], ["samsung-extended-smart"]);
    // Without PCI the model decides, whatever its case; a model cannot overrule a vendor.
    assert_eq!(ids(0, 0, "Memblaze P6536")[4..], ["memblaze-attributes", "memblaze-latency"]);
    assert_eq!(ids(0, 0, "Samsung SSD 980")[4..], ["samsung-extended-smart"]);
    assert_eq!(ids(0x1e0f, 0, "Samsung SSD 980"), standard);
    assert_eq!(ids(0, 0, "é"), standard);
}
