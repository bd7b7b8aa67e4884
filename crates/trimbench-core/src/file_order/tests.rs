use super::*;
use crate::command::FileId;
use crate::units::Bytes;

const FILE: FileId = FileId(1);
const READ: FileCommand = FileCommand::Read { file: FILE, offset: Bytes(0), length: Bytes(1) };
const FSYNC: FileCommand = FileCommand::Fsync { file: FILE };
const UNLINK: FileCommand = FileCommand::Unlink { file: FILE };

#[test]
fn transfers_run_side_by_side_and_the_rest_waits() {
    let mut order = FileOrder::default();
    let next = |order: &mut FileOrder<u32>| order.startable().map(|(name, _)| name);
    assert!(order.admit(0, READ));
    assert!(order.admit(1, READ));
    assert!(!order.admit(2, FSYNC), "it waits for what was before it");
    assert!(!order.admit(3, READ), "and what comes later waits behind it");
    assert!(!order.admit(4, UNLINK));
    order.ended();
    assert_eq!(next(&mut order), None);
    order.ended();
    assert_eq!(next(&mut order), Some(2));
    assert_eq!(next(&mut order), Some(3), "beside an fsync a transfer may run");
    assert_eq!(next(&mut order), None);
    order.ended();
    order.ended();
    assert_eq!(next(&mut order), Some(4));
    assert!(!order.admit(5, READ), "beside an unlink nothing runs");
    order.ended();
    assert_eq!(next(&mut order), Some(5));
    order.ended();
    assert!(order.is_idle());
}
