//! Where the request goes while its body is still arriving: a small one stays
//! in memory, a large one flows into R2.
use crate::{
    domain::JobId,
    pipeline::{
        accept::discard,
        input::input_key,
        ports::{Ambient, Objects},
        problem::Problem,
        upload::{Permit, Permits, Spool},
    },
};
use std::mem;

/// Where a request is kept: exactly the body for the upstream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RequestPlace {
    /// Here.
    Inline(String),
    /// In R2.
    Object {
        /// Its key.
        key: String,
        /// Its length.
        bytes: u64,
    },
}

impl RequestPlace {
    /// The key of the object, if it is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Inline(_) => None,
            Self::Object { key, .. } => Some(key),
        }
    }
}

/// Keeps the request of one job.
pub(super) struct Keeper<'a, P: Objects> {
    ports: &'a P,
    job: JobId,
    permits: &'a Permits,
    inline_max: usize,
    small: Vec<u8>,
    large: Option<Large<'a, P>>,
    bytes: u64,
}

/// The buffer goes before the permit to have it.
struct Large<'a, P: Objects> {
    spool: Spool<'a, P>,
    _permit: Permit<'a>,
}

impl<'a, P: Objects + Ambient> Keeper<'a, P> {
    pub(super) fn new(ports: &'a P, job: JobId, permits: &'a Permits, inline_max: usize) -> Self {
        Self { ports, job, permits, inline_max, small: Vec::new(), large: None, bytes: 0 }
    }

    /// Takes the next bytes of the request, and leaves `bytes` empty.
    pub(super) async fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), Problem> {
        self.bytes += bytes.len() as u64;
        if let Some(large) = &mut self.large {
            large.spool.write(bytes).await?;
            bytes.clear();
            return Ok(());
        }
        self.small.append(bytes);
        if self.small.len() > self.inline_max {
            let small = mem::take(&mut self.small);
            self.enlarge().await?.spool.write(&small).await?;
        }
        Ok(())
    }

    /// The request is complete; an empty one is none. After an error, what was
    /// kept must be [discarded](Self::discard).
    pub(super) async fn finish(&mut self) -> Result<Option<RequestPlace>, Problem> {
        if let Some(large) = &mut self.large {
            let (key, bytes) = (large.spool.finish().await?, self.bytes);
            return Ok(Some(RequestPlace::Object { key, bytes }));
        }
        let small = String::from_utf8(mem::take(&mut self.small));
        let small = small.map_err(|_| Problem::internal())?;
        Ok(Some(RequestPlace::Inline(small)).filter(|_| self.bytes > 0))
    }

    /// Leaves nothing behind.
    pub(super) async fn discard(self) {
        let Some(mut large) = self.large else { return };
        let key = large.spool.abandon().await;
        discard(self.ports, key.into_iter().collect()).await;
    }

    /// Waits for room for a large buffer.
    async fn enlarge(&mut self) -> Result<&mut Large<'a, P>, Problem> {
        let permit = self.permits.take(self.ports).await?;
        let mut spool = Spool::new(self.ports, CONTENT_TYPE);
        spool.begin(input_key(self.job));
        Ok(self.large.insert(Large { spool, _permit: permit }))
    }
}

const CONTENT_TYPE: &str = "application/json";
