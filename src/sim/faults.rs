//! What goes wrong at a port, and when.
use super::chance::Chance;
use super::stage::{Process, Role};
use crate::domain::Timestamp;
use std::collections::BTreeMap;

/// What is asked of a port.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Op {
    /// D1: a batch of statements.
    Sql,
    /// R2: a write-once put.
    Put,
    /// R2: a head.
    Head,
    /// R2: a step of an upload in parts.
    Upload,
    /// R2: a removal.
    Delete,
    /// Queues: a send.
    Send,
    /// The scheduler object: places, asked for or given back.
    Admit,
    /// The scheduler object: new jobs.
    Submit,
    /// The scheduler object: ended attempts.
    Settle,
    /// The scheduler object: jobs whose owner ends them, or asks about them.
    Ask,
    /// Claude: a call.
    Call,
    /// The scheduler object's storage: a write.
    Write,
    /// The scheduler object's alarm: set or unset.
    Alarm,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Sql,
        Self::Put,
        Self::Head,
        Self::Upload,
        Self::Delete,
        Self::Send,
        Self::Admit,
        Self::Submit,
        Self::Settle,
        Self::Ask,
        Self::Call,
        Self::Write,
        Self::Alarm,
    ];
}

/// How it goes wrong.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fault {
    /// It is not done, and reported so.
    Undone,
    /// It is done, and reported as failed.
    Unreported,
    /// The process that asks dies before it is done.
    DiesBefore,
    /// The process that asks dies after it is done, without learning so.
    DiesAfter,
    /// The task that asks panics, and its process lives. The object outlives
    /// that anywhere; others catch it around a call to Claude only.
    Panics,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Undone, Self::Unreported, Self::DiesBefore, Self::DiesAfter, Self::Panics];
}

/// A fault at certain calls.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Who asks.
    pub role: Role,
    /// For what.
    pub op: Op,
    /// How many such calls still go well.
    pub after: u32,
    /// How many then do not.
    pub times: u32,
    /// How.
    pub fault: Fault,
}

/// Every fault to come.
#[derive(Debug, Default)]
pub(super) struct Faults {
    plans: Vec<Plan>,
    /// In thousandths of the calls.
    odds: BTreeMap<(Op, Fault), u32>,
    outages: BTreeMap<Op, Timestamp>,
    /// How many calls there were of each kind.
    calls: BTreeMap<(Role, Op), u32>,
}

impl Faults {
    pub(super) fn plan(&mut self, plan: Plan) {
        self.plans.push(plan);
    }

    pub(super) fn odds(&mut self, op: Op, fault: Fault, permille: u32) {
        self.odds.insert((op, fault), permille);
    }

    pub(super) fn outage(&mut self, op: Op, until: Timestamp) {
        self.outages.insert(op, until);
    }

    /// From now on all goes well.
    pub(super) fn clear(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        *self = Self { calls, ..Self::default() };
    }

    pub(super) fn calls(&self, role: Role, op: Op) -> u32 {
        self.calls.get(&(role, op)).copied().unwrap_or_default()
    }

    /// What goes wrong with this call, if anything.
    pub(super) fn next(
        &mut self,
        process: Process,
        op: Op,
        now: Timestamp,
        chance: &Chance,
    ) -> Option<Fault> {
        let role = process.role();
        *self.calls.entry((role, op)).or_default() += 1;
        if let Some(fault) = self.planned(role, op) {
            return Some(fault);
        }
        if self.outages.get(&op).is_some_and(|until| now < *until) {
            return Some(Fault::Undone);
        }
        let odds = |fault| self.odds.get(&(op, fault)).copied().unwrap_or_default();
        Fault::ALL.into_iter().find(|fault| chance.happens(odds(*fault)))
    }

    fn planned(&mut self, role: Role, op: Op) -> Option<Fault> {
        let mut found = None;
        for plan in self.plans.iter_mut().filter(|plan| plan.role == role && plan.op == op) {
            if plan.after > 0 {
                plan.after -= 1;
            } else if plan.times > 0 && found.is_none() {
                plan.times -= 1;
                found = Some(plan.fault);
            }
        }
        self.plans.retain(|plan| plan.times > 0);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_counts_the_calls_of_its_own_kind_only() {
        let (mut faults, chance) = (Faults::default(), Chance::new(1));
        let (role, op, fault) = (Role::Consumer, Op::Put, Fault::Unreported);
        faults.plan(Plan { role, op, after: 1, times: 2, fault });
        let mut next = |process, op| faults.next(process, op, Timestamp::default(), &chance);
        assert_eq!(next(Process::Door(1), Op::Put), None);
        assert_eq!(next(Process::Consumer(1), Op::Head), None);
        let seen = [0; 4].map(|_| next(Process::Consumer(1), Op::Put));
        assert_eq!(seen, [None, Some(fault), Some(fault), None]);
    }
}
