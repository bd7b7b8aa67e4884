use trimbench_core::FileId;

use super::*;
use crate::TargetSpec;

fn spec(text: &str) -> PoolSpec {
    let spec = TargetSpec::parse(text, None).unwrap();
    spec.as_kind::<PoolSpec>().expect("it is a pool").clone()
}

fn refused(text: &str) -> TargetError {
    match TargetSpec::parse(text, None) {
        Err(error) => error,
        Ok(spec) => panic!("`{text}` is refused, not {spec}"),
    }
}

#[test]
fn a_pool_s_text_means_the_same_again() {
    for text in [
        "raidz2:sim:like-p3500*10",
        "raidz2,policy=none,manner=zfs-autotrim,scale=32:sim:like-p3500,capacity=1GiB*10",
        "raidz2,manner=zfs-trim,trim-rate=64MiB:sim:like-p3500*10",
        "stripe,write-kib=1us:sim:vendor2*1",
        "raidz1,policy=paced+target=5ms:sim:vendor2*3",
    ] {
        assert_eq!(spec(text).to_string(), text);
    }
    let settled = spec("raidz2:sim:like-p3500*10").sized_for(None, Bytes::gib(400)).unwrap();
    assert!(settled.to_string().ends_with(":sim:like-p3500,capacity=76GiB*10"), "{settled}");
}

#[test]
fn what_is_no_pool_is_refused_with_what_would_be_right() {
    for (text, part) in [
        ("raidz2:sim:like-p3500*2", "of 3 to 64"),
        ("raidz2:sim:like-p3500", "of 3 to 64"),
        ("raidz2:sim:like-p3500*ten", "raidz2:sim:NAME*10"),
        ("raidz2,manner=linux:sim:like-p3500*10", "`linux` is not one of zfs-autotrim, zfs-trim"),
        ("raidz2,manner=freebsd:sim:like-p3500*10", "did you mean `freebsd-2017`?"),
        ("raidz2,manner=openzfs:sim:like-p3500*10", "did you mean `zfs-autotrim`?"),
        ("raidz2,manner=freebsd-2012:sim:like-p3500*10", "did you mean `freebsd-201"),
        ("raidz2,manner=zfs-autotrim,trim-rate=1MiB:sim:like-p3500*10", "`manner=zfs-trim`"),
        ("raidz2,manner=zfs-trim,trim-rate=fast:sim:like-p3500*10", "trim-rate"),
        ("raidz2,scale=64:sim:like-p3500*10", "`scale=64` is too much for this drive"),
        ("raidz2,scale=0:sim:like-p3500*10", "out of range"),
        ("raidz2,polcy=none:sim:like-p3500*10", "did you mean `policy`?"),
        ("raidz2,policy=pased:sim:like-p3500*10", "did you mean `paced`?"),
        ("raidz2,policy=online:sim:like-p3500*10", "without `policy`, `manner` decides alone"),
        ("raidz2,policy=deferred:sim:like-p3500*10", "did you mean `btrfs-async`?"),
        ("raidz2,policy=ext4:sim:like-p3500*10", "`manner` is the pool's system"),
        ("raidz9:sim:like-p3500*10", "did you mean"),
        ("raidz2:/dev/null", "raidz2 is a model, and can be made on emulated drives only"),
    ] {
        let error = refused(text);
        assert!(error.is_usage() && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn pools_are_made_anew_on_the_same_drives_with_the_policy_wished_for() {
    let text = "raidz1,scale=64,write-kib=0ns:sim:generic-nvme-tlc,capacity=256MiB*3";
    let mut pools = spec(text).provision(Bytes(0), 1).expect("the drives are large enough").target;
    let mut before = Instant::START;
    for (discard, discarded) in [
        (DiscardMode::Online, true),
        (DiscardMode::Off, false),
        (DiscardMode::Policy("skip-by-queue,pending-max=1000000".to_owned()), true),
    ] {
        let wish = FilesystemSpec { discard, ..FilesystemSpec::default() };
        pools.make(&wish).unwrap();
        let files = pools.files();
        assert!(files.now() > before, "the clock goes on");
        let made = files.statistics().discard.bytes;
        let file = FileId(1);
        for command in [
            FileCommand::Create { file },
            FileCommand::Write { file, offset: Bytes(0), length: Bytes::mib(64) },
            FileCommand::SyncFilesystem,
            FileCommand::Unlink { file },
            FileCommand::SyncFilesystem,
        ] {
            files.submit(TAG, command).unwrap();
            await_one(files).unwrap();
        }
        let second = files.now() + Nanos::from_secs(10);
        while files.now() < second {
            files.reap(second, &mut Vec::new());
        }
        let freed = files.statistics().discard.bytes - made;
        assert_eq!(freed > Bytes::mib(64), discarded, "{freed}: with its parity");
        before = files.now();
        pools.unmount().unwrap();
    }
    let wish =
        FilesystemSpec { discard: DiscardMode::Policy("soon".to_owned()), ..Default::default() };
    assert!(pools.make(&wish).unwrap_err().reason.contains("soon"));
}
