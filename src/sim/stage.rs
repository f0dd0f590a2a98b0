//! Time and tasks: everything waits for the calendar, nothing for a clock.
use crate::domain::{Queue, Span, Timestamp};
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// What can die by itself, with all that it had in memory.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Process {
    /// One request at the door.
    Door(u64),
    /// One batch of messages.
    Consumer(u64),
    /// The scheduler object.
    Object,
}

/// What a process is for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Role {
    /// Takes requests.
    Door,
    /// Takes messages.
    Consumer,
    /// Orders jobs.
    Object,
}

impl Process {
    /// What it is for.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Door(_) => Role::Door,
            Self::Consumer(_) => Role::Consumer,
            Self::Object => Role::Object,
        }
    }
}

/// What the calendar holds.
#[derive(Debug)]
pub(super) enum Happening {
    /// A task's pause is over.
    Wake(Waker),
    /// A queue may have messages to hand over.
    Deliver(Queue),
    /// The object's alarm rings, if it is still the one of this number.
    Alarm(u64),
    /// The cron's minute.
    Sweep,
    /// A process has died.
    Died(Process),
}

/// The time, the calendar and the tasks.
#[derive(Default)]
pub(super) struct Stage {
    now: Cell<Timestamp>,
    numbers: Cell<u64>,
    calendar: RefCell<BTreeMap<(Timestamp, u64), Happening>>,
    tasks: RefCell<BTreeMap<u64, Task>>,
    ready: Arc<Ready>,
    dead: RefCell<VecDeque<Process>>,
}

/// A panic that was asked for: it ends the task that meets it, as on the
/// platform, and nothing else.
pub(super) struct Poison;

struct Task {
    process: Process,
    future: LocalBoxFuture<'static, ()>,
}

impl Stage {
    pub(super) fn new(now: Timestamp) -> Rc<Self> {
        Rc::new(Self { now: Cell::new(now), ..Self::default() })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now.get()
    }

    /// Counts up.
    pub(super) fn number(&self) -> u64 {
        let next = self.numbers.get() + 1;
        self.numbers.set(next);
        next
    }

    pub(super) fn schedule(&self, at: Timestamp, happening: Happening) {
        self.calendar.borrow_mut().insert((at, self.number()), happening);
    }

    /// Returns after `span` of virtual time.
    pub(super) fn pause(self: &Rc<Self>, span: Span) -> Pause {
        self.until(self.now() + span)
    }

    pub(super) fn until(self: &Rc<Self>, at: Timestamp) -> Pause {
        Pause { stage: Rc::clone(self), at, waker: None }
    }

    /// Starts a task of a process.
    pub(super) fn spawn(&self, process: Process, future: impl Future<Output = ()> + 'static) {
        let id = self.number();
        self.tasks.borrow_mut().insert(id, Task { process, future: Box::pin(future) });
        self.ready.push(id);
    }

    /// The process stops here and now. What is being polled returns first.
    pub(super) fn kill(&self, process: Process) {
        let mut killed = Vec::new();
        self.tasks.borrow_mut().retain(|_, task| {
            let lives = task.process != process;
            if !lives {
                killed.push(std::mem::replace(&mut task.future, Box::pin(async {})));
            }
            lives
        });
        self.dead.borrow_mut().push_back(process);
    }

    /// Whether a process has tasks under way.
    pub(super) fn works(&self, process: Process) -> bool {
        self.tasks.borrow().values().any(|task| task.process == process)
    }

    /// How many tasks are under way.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.borrow().len()
    }

    /// Runs what can run, then lets time pass to the next happening, at most
    /// to `until`.
    pub(super) fn step(&self, until: Timestamp) -> Option<Happening> {
        loop {
            self.run_ready();
            if let Some(process) = self.dead.borrow_mut().pop_front() {
                return Some(Happening::Died(process));
            }
            let next = self.calendar.borrow().keys().next().copied();
            let Some(next) = next.filter(|(at, _)| *at <= until) else {
                self.now.set(self.now().max(until));
                return None;
            };
            let happening = self.calendar.borrow_mut().remove(&next);
            self.now.set(self.now().max(next.0));
            match happening {
                Some(Happening::Wake(waker)) => waker.wake(),
                other => return other,
            }
        }
    }

    /// Forgets every task: they hold what holds this.
    pub(super) fn clear(&self) {
        drop(self.tasks.take());
        drop(self.calendar.take());
    }

    fn run_ready(&self) {
        while let Some(id) = self.next_ready() {
            let Some(mut task) = self.tasks.borrow_mut().remove(&id) else {
                continue;
            };
            let waker = Waker::from(Arc::new(TaskWaker { id, ready: Arc::clone(&self.ready) }));
            let mut context = Context::from_waker(&waker);
            let poll = || task.future.as_mut().poll(&mut context);
            let polled = match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(polled) => polled,
                Err(panic) if panic.is::<Poison>() => continue,
                Err(panic) => resume_unwind(panic),
            };
            let lives = !self.dead.borrow().contains(&task.process);
            if polled.is_pending() && lives {
                self.tasks.borrow_mut().insert(id, task);
            }
        }
    }

    /// A death is dealt with before anything else goes on.
    fn next_ready(&self) -> Option<u64> {
        if self.dead.borrow().is_empty() { self.ready.pop() } else { None }
    }
}

/// Tasks that can go on, first come, first served.
#[derive(Default)]
struct Ready(Mutex<VecDeque<u64>>);

impl Ready {
    fn push(&self, id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(id);
    }

    fn pop(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

struct TaskWaker {
    id: u64,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.id);
    }
}

/// A wait for a moment.
pub(super) struct Pause {
    stage: Rc<Stage>,
    at: Timestamp,
    waker: Option<Waker>,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.stage.now() >= self.at {
            return Poll::Ready(());
        }
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            let waker = cx.waker().clone();
            self.stage.schedule(self.at, Happening::Wake(waker.clone()));
            self.waker = Some(waker);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_000);

    #[test]
    fn pauses_end_in_the_order_of_their_ends() {
        let stage = Stage::new(NOON);
        let seen = Rc::new(RefCell::new(Vec::new()));
        for wait in [30, 10, 20] {
            let (stage, seen) = (Rc::clone(&stage), Rc::clone(&seen));
            stage.clone().spawn(Process::Object, async move {
                stage.pause(Span::from_millis(wait)).await;
                seen.borrow_mut().push((wait, stage.now().as_millis()));
            });
        }
        assert!(stage.step(NOON + Span::from_secs(1)).is_none());
        assert_eq!(*seen.borrow(), [(10, 1_010), (20, 1_020), (30, 1_030)]);
        assert_eq!(stage.now(), NOON + Span::from_secs(1));
    }

    #[test]
    fn a_killed_process_goes_no_further_and_others_do() {
        let stage = Stage::new(NOON);
        let done = Rc::new(Cell::new(0));
        for process in [Process::Consumer(1), Process::Consumer(2)] {
            let (stage, done) = (Rc::clone(&stage), Rc::clone(&done));
            stage.clone().spawn(process, async move {
                stage.pause(Span::from_millis(5)).await;
                done.set(done.get() + 1);
            });
        }
        stage.step(NOON);
        stage.kill(Process::Consumer(1));
        let died = stage.step(NOON + Span::from_secs(1));
        assert!(matches!(died, Some(Happening::Died(Process::Consumer(1)))));
        stage.step(NOON + Span::from_secs(1));
        assert_eq!(done.get(), 1);
    }
}
