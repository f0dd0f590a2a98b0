//! The verbs that make things go wrong.
use super::faults::{Fault, Op, Plan};
use super::stage::Role;
use super::upstream::Behaviour;
use super::world::World;
use crate::domain::{Limits, Span};

impl World {
    /// The next call of this kind by this role goes wrong.
    pub fn fail(&self, role: Role, op: Op, fault: Fault) {
        self.plan(Plan { role, op, after: 0, times: 1, fault });
    }

    /// Certain calls go wrong.
    pub fn plan(&self, plan: Plan) {
        self.inner().faults.borrow_mut().plan(plan);
    }

    /// So many calls of this kind in a thousand go wrong, until told
    /// otherwise.
    pub fn odds(&self, op: Op, fault: Fault, permille: u32) {
        self.inner().faults.borrow_mut().odds(op, fault, permille);
    }

    /// A store is away for a while: nothing that is asked of it is done.
    pub fn outage(&self, op: Op, span: Span) {
        let until = self.now() + span;
        self.inner().faults.borrow_mut().outage(op, until);
    }

    /// Claude answers nothing but 529 for a while.
    pub fn claude_outage(&self, span: Span) {
        self.inner().upstream.down_until.set(self.now() + span);
    }

    /// What Claude does with the next call that has no rule of its own.
    pub fn claude_will(&self, behaviour: Behaviour) {
        self.inner().upstream.script.borrow_mut().then(behaviour);
    }

    /// What Claude does with every call for this prompt.
    pub fn claude_always(&self, prompt: &str, behaviour: Behaviour) {
        self.inner().upstream.script.borrow_mut().always(prompt, behaviour);
    }

    /// What Claude does with so many calls in a thousand.
    pub fn claude_odds(&self, behaviour: Behaviour, permille: u32) {
        self.inner().upstream.script.borrow_mut().odds(behaviour, permille);
    }

    /// How long Claude's answers take, at least and at most.
    pub fn claude_pace(&self, least: Span, most: Span) {
        self.inner().upstream.pace.set((least, most));
    }

    /// What Claude really lets through.
    pub fn claude_limits(&self, limits: Limits) {
        self.inner().upstream.limits.set(limits);
    }

    /// Whether Claude's answers tell its limits.
    pub fn claude_tells_limits(&self, tells: bool) {
        self.inner().upstream.tells_limits.set(tells);
    }

    /// The operator changes the key; the object starts anew.
    pub fn change_key(&self) {
        let key = &self.inner().upstream.key;
        key.set(key.get() + 1);
        self.crash_object();
    }

    /// So many messages in a thousand come twice.
    pub fn duplicates(&self, permille: u32) {
        self.inner().duplicates.set(permille);
    }

    /// So many ways to and from ports in a thousand take up to 15 seconds,
    /// and so many messages up to two minutes.
    pub fn stalls(&self, permille: u32) {
        self.inner().stalls.set(permille);
    }

    /// Each process has a clock of its own, off by at most this.
    pub fn clock_skew(&self, most: Span) {
        self.inner().skew.set(most);
    }

    /// From now on all goes well.
    pub fn peace(&self) {
        self.stalls(0);
        self.inner().faults.borrow_mut().clear();
        self.inner().upstream.script.borrow_mut().clear();
        self.inner().upstream.down_until.set(self.now());
        self.duplicates(0);
    }
}
