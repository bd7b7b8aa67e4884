//! Layers of device mapper: encryption, joined and thin volumes, caches, RAID.
//!
//! What a mapping is, `dmsetup table` says to root. Without root the identifier that LVM,
//! cryptsetup and multipath give it tells most of it (`dm/uuid` of sysfs), and the names of what it
//! stands on the rest. Sources: Documentation/admin-guide/device-mapper of Linux; lib/uuid-prefix.h
//! and lib/activate of LVM2; libcryptsetup's `dm_prepare_uuid`.

use std::collections::BTreeMap;

use trimbench_core::text::shell_word;
use trimbench_results::advice::LineToType;

use super::Walk;
use crate::device::DeviceNode;
use crate::layer::{Handling, Layer, LayerKind};
use crate::traps;
use crate::tree::{ReadObstacle, SystemFact, SystemTree};

/// What `dmsetup` prints of the mappings, by name.
#[derive(Debug)]
pub(super) struct Mappings {
    table: SystemFact<BTreeMap<String, Vec<Target>>>,
    status: SystemFact<BTreeMap<String, Vec<Target>>>,
}

/// A part of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    kind: String,
    arguments: Vec<String>,
}

impl Mappings {
    pub(super) fn of(tree: &SystemTree) -> Self {
        let has_mappings =
            tree.names_or_none("/sys/class/block").iter().any(|name| name.starts_with("dm-"));
        if !has_mappings {
            return Self { table: SystemFact::Absent, status: SystemFact::Absent };
        }
        let printed = |what| tree.printed("dmsetup", &[what]).and_then(|text| Some(parse(&text)));
        Self { table: printed("table"), status: printed("status") }
    }

    fn targets(&self, name: &str) -> &[Target] {
        self.table.as_known().and_then(|all| all.get(name)).map_or(&[], Vec::as_slice)
    }

    /// A word among the features that the kernel shows of a mapping now, as `no_discard_passdown`.
    fn feature(&self, name: &str, words: &[&str]) -> SystemFact<String> {
        let (table, status) = (&self.table, &self.status);
        for look in [status, table] {
            let targets = look.as_known().and_then(|all| all.get(name));
            let found = targets.into_iter().flatten().flat_map(|it| &it.arguments);
            if let Some(word) = found.into_iter().find(|word| words.contains(&word.as_str())) {
                return SystemFact::Known(word.clone());
            }
        }
        match status {
            SystemFact::Known(_) | SystemFact::Absent => SystemFact::Absent,
            SystemFact::Unreadable(obstacle) => SystemFact::Unreadable(obstacle.clone()),
        }
    }

    /// Why the tables are not known.
    fn obstacle(&self) -> Option<&ReadObstacle> {
        self.table.obstacle()
    }
}

/// Lines of `dmsetup table` or `status`: `name: start length kind arguments...`.
fn parse(text: &str) -> BTreeMap<String, Vec<Target>> {
    let mut all: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(": ") else { continue };
        let mut words = rest.split_ascii_whitespace().skip(2).map(str::to_owned);
        let Some(kind) = words.next() else { continue };
        all.entry(name.to_owned()).or_default().push(Target { kind, arguments: words.collect() });
    }
    all
}

/// The layer of a mapping, and those below it.
pub(super) fn layer(walk: &Walk<'_>, device: &DeviceNode, depth: usize) -> Layer {
    let name = device.attribute(walk.system.tree, "dm/name").known().unwrap_or_default();
    let uuid = device.attribute(walk.system.tree, "dm/uuid").known().unwrap_or_default();
    let kind = kind(walk, device, &name, &uuid);
    let mut below = walk.below(device, depth);
    // The metadata of a pool or a cache gets no discards of its users.
    if matches!(kind, LayerKind::DmThinPool | LayerKind::DmCache) {
        let data = data_devices(walk, device, kind, &name);
        if !data.is_empty() {
            below.retain(|layer| data.contains(&layer.name));
        }
    }
    let handling = walk
        .by_queue(device, &below)
        .unwrap_or_else(|| handling(walk, device, (kind, &name, &uuid), &below));
    let mut layer = walk.queue_layer(kind, device, handling);
    layer.title = name;
    if kind == LayerKind::DmOther
        && let Some(obstacle) = walk.mappings.obstacle()
    {
        layer.unread.push(obstacle.words());
    }
    layer.traps = traps::of_mapping(&layer, &below);
    Layer { below, ..layer }
}

/// What a mapping is.
fn kind(walk: &Walk<'_>, device: &DeviceNode, name: &str, uuid: &str) -> LayerKind {
    let targets = walk.mappings.targets(name);
    if let Some(first) = targets.first() {
        return match first.kind.as_str() {
            "crypt" => LayerKind::DmCrypt,
            "linear" | "striped" | "unstriped" => LayerKind::DmLinear,
            "thin" => LayerKind::DmThin,
            "thin-pool" => LayerKind::DmThinPool,
            "cache" => LayerKind::DmCache,
            "snapshot" | "snapshot-origin" | "snapshot-merge" => LayerKind::DmSnapshot,
            "vdo" => LayerKind::DmVdo,
            "multipath" => LayerKind::DmMultipath,
            "raid" | "mirror" => LayerKind::DmRaid,
            _ => LayerKind::DmOther,
        };
    }
    if uuid.starts_with("CRYPT-VERITY-") || uuid.starts_with("CRYPT-INTEGRITY-") {
        return LayerKind::DmOther;
    }
    match uuid.split('-').next().unwrap_or_default() {
        "CRYPT" => LayerKind::DmCrypt,
        "mpath" => LayerKind::DmMultipath,
        "VDO" => LayerKind::DmVdo,
        "LVM" => of_lvm(walk.system.tree, device, uuid),
        part if part.starts_with("part") => LayerKind::DmLinear,
        _ => LayerKind::DmOther,
    }
}

/// What a volume of LVM is: by the end of its identifier, else by what it stands on.
fn of_lvm(tree: &SystemTree, device: &DeviceNode, uuid: &str) -> LayerKind {
    let lower = device.below(tree);
    let identifier = |it: &DeviceNode| it.attribute(tree, "dm/uuid").known().unwrap_or_default();
    let name = |it: &DeviceNode| it.attribute(tree, "dm/name").known().unwrap_or_default();
    let stands_on = |end: &str| lower.iter().any(|it| identifier(it).ends_with(end));
    match uuid.rsplit('-').next().unwrap_or_default() {
        "tpool" => return LayerKind::DmThinPool,
        "vpool" => return LayerKind::DmVdo,
        _ => {}
    }
    match () {
        () if stands_on("-tpool") => LayerKind::DmThin,
        () if stands_on("-cdata") || stands_on("-cmeta") => LayerKind::DmCache,
        () if stands_on("-real") || stands_on("-cow") => LayerKind::DmSnapshot,
        () if lower.iter().any(|it| name(it).contains("_rimage_")) => LayerKind::DmRaid,
        () => LayerKind::DmLinear,
    }
}

/// Kernel names of the devices that hold the data of a pool, or what a cache stands before.
fn data_devices(walk: &Walk<'_>, device: &DeviceNode, kind: LayerKind, name: &str) -> Vec<String> {
    // `thin-pool META DATA ...`, `cache META CACHE ORIGIN ...`: numbers of devices.
    let place = if kind == LayerKind::DmThinPool { 1 } else { 2 };
    let numbers = walk.mappings.targets(name).first().and_then(|it| it.arguments.get(place));
    let by_table = numbers.and_then(|it| {
        let (major, minor) = it.split_once(':')?;
        DeviceNode::numbered(walk.system.tree, (major.parse().ok()?, minor.parse().ok()?))
    });
    if let Some(data) = by_table {
        return vec![data.name];
    }
    let is_data = |it: &DeviceNode| {
        let name = it.attribute(walk.system.tree, "dm/name").known().unwrap_or_default();
        ["_tdata", "_corig"].iter().any(|end| name.ends_with(end))
    };
    device.below(walk.system.tree).into_iter().filter(is_data).map(|it| it.name).collect()
}

/// What a mapping does with discards, where its queue alone does not say.
fn handling(
    walk: &Walk<'_>,
    device: &DeviceNode,
    (kind, name, uuid): (LayerKind, &str, &str),
    below: &[Layer],
) -> Handling {
    let accepts = device.limits(walk.system.tree).accepts() == Some(true);
    let drops = |cause, why: &str, lines| Handling::Drops { cause, why: why.to_owned(), lines };
    match kind {
        LayerKind::DmCrypt if !accepts => drops(
            "crypt-without-discards",
            "it was opened without `--allow-discards`",
            crypt_lines(walk.system.tree, name, uuid),
        ),
        LayerKind::DmThinPool => pool(walk, name, below),
        LayerKind::DmThin if !accepts => drops(
            "pool-ignores-discards",
            "its pool was made with discards switched off",
            vec![pool_line()],
        ),
        LayerKind::DmCache => cache(walk, name),
        LayerKind::DmVdo => drops(
            "vdo",
            "VDO frees blocks of its own by them, and sends none to what is below it",
            Vec::new(),
        ),
        LayerKind::DmRaid if !accepts => drops(
            "dm-raid-unsafe",
            "the kernel lets RAID 4, 5 and 6 pass discards only if told that the drives return \
             zeros afterwards",
            vec![super::raid::parity_line("dm_raid", "dm-raid")],
        ),
        LayerKind::DmSnapshot if !accepts => drops(
            "snapshot",
            "a volume that has a snapshot, or is one, accepts no discards",
            vec![LineToType::command("LVM", "lvs -o lv_name,origin").untested().noting(
                "`lvremove` of the snapshots that you do not need, or thin snapshots instead",
            )],
        ),
        _ if !accepts => {
            let what = walk.mappings.targets(name).first().map(|it| it.kind.clone());
            let what = what.map_or("this mapping".to_owned(), |it| format!("a mapping `{it}`"));
            drops("mapping", &format!("{what} accepts no discards"), Vec::new())
        }
        LayerKind::DmOther if walk.mappings.obstacle().is_some() => Handling::Unknown {
            why: "what this mapping is, only root can see (`dmsetup table`)".to_owned(),
        },
        _ => Handling::Passes,
    }
}

/// A pool keeps discards to itself, or passes them down.
fn pool(walk: &Walk<'_>, name: &str, below: &[Layer]) -> Handling {
    const WORDS: [&str; 3] = ["ignore_discard", "no_discard_passdown", "discard_passdown"];
    match walk.mappings.feature(name, &WORDS) {
        SystemFact::Known(word) if word == "discard_passdown" => Handling::Passes,
        SystemFact::Known(word) if word == "ignore_discard" => Handling::Drops {
            cause: "pool-ignores-discards",
            why: "it was made to ignore discards".to_owned(),
            lines: vec![pool_line()],
        },
        // The kernel switches it off by itself where what is below accepts none.
        SystemFact::Known(_) if below.iter().all(|it| !it.may_accept()) => Handling::Passes,
        SystemFact::Known(_) => Handling::Drops {
            cause: "pool-keeps-discards",
            why: "it frees blocks of its own by them, and passes none down".to_owned(),
            lines: vec![pool_line()],
        },
        SystemFact::Absent => Handling::Passes,
        SystemFact::Unreadable(_) => Handling::Unknown {
            why: "whether the pool passes discards down, only root can see (`dmsetup status`)"
                .to_owned(),
        },
    }
}

fn cache(walk: &Walk<'_>, name: &str) -> Handling {
    match walk.mappings.feature(name, &["no_discard_passdown"]) {
        SystemFact::Known(_) => Handling::Drops {
            cause: "cache-keeps-discards",
            why: "the cache passes discards neither to its fast nor to its slow device".to_owned(),
            lines: Vec::new(),
        },
        SystemFact::Absent => Handling::Passes,
        SystemFact::Unreadable(_) => Handling::Unknown {
            why: "whether the cache passes discards down, only root can see (`dmsetup status`)"
                .to_owned(),
        },
    }
}

fn pool_line() -> LineToType {
    LineToType::command("LVM", "lvchange --discards passdown VG/POOL")
        .checked_by("lvs -o lv_name,discards")
        .untested()
}

/// How an open encrypted device comes to pass discards, now and at the next start.
fn crypt_lines(tree: &SystemTree, name: &str, uuid: &str) -> Vec<LineToType> {
    const SEEN: &str = "who gets hold of the disk then sees which blocks are free";
    let mapping = shell_word(name);
    let persistent = if uuid.starts_with("CRYPT-LUKS2-") { "--persistent " } else { "" };
    let command = format!("cryptsetup refresh --allow-discards {persistent}{mapping}");
    let command = LineToType::command("dm-crypt", command)
        .checked_by(format!("lsblk --discard /dev/mapper/{mapping}"))
        .noting(SEEN);
    let mut lines = Vec::new();
    let crypttab = tree.text("/etc/crypttab").known().unwrap_or_default();
    let listed = crypttab
        .lines()
        .map(str::trim)
        .find(|line| !line.starts_with('#') && line.split_ascii_whitespace().next() == Some(name));
    if let Some(line) = listed {
        let mut fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.resize(fields.len().max(3), "none");
        let options = match fields.get(3) {
            Some(options) => format!("{options},discard"),
            None => "luks,discard".to_owned(),
        };
        let is_set = fields.get(3).is_some_and(|it| it.split(',').any(|it| it == "discard"));
        if !is_set {
            let text = format!("{} {options}", fields[..3].join(" "));
            lines.push(LineToType::in_file("dm-crypt", "/etc/crypttab", text).untested());
        }
    }
    lines.push(command);
    lines
}
