//! Objects of unknown length on their way into R2, one after the other, through
//! one buffer of one part. R2 wants to know each length in advance, and a
//! buffered part can be sent again.
use crate::pipeline::{
    ports::{Ambient, ObjectMeta, Objects, PortResult, Upload},
    retry::patiently,
};

/// The smallest part R2 takes: 5 MiB. All parts but the last have this size.
pub const PART: usize = 5 * 1024 * 1024;

/// Writes one object at a time.
pub(in crate::pipeline) struct Spool<'a, P: Objects> {
    ports: &'a P,
    content_type: &'static str,
    key: String,
    /// What is not stored yet. Allocated once and never grown.
    part: Vec<u8>,
    /// Begun once the object is known to exceed one part.
    upload: Option<P::Upload>,
}

impl<'a, P: Objects + Ambient> Spool<'a, P> {
    pub(in crate::pipeline) fn new(ports: &'a P, content_type: &'static str) -> Self {
        Self {
            ports,
            content_type,
            key: String::new(),
            part: Vec::with_capacity(PART),
            upload: None,
        }
    }

    /// Begins an object; the one before must be finished or discarded.
    pub(in crate::pipeline) fn begin(&mut self, key: String) {
        self.key = key;
    }

    pub(in crate::pipeline) async fn write(&mut self, mut bytes: &[u8]) -> PortResult<()> {
        while !bytes.is_empty() {
            if self.part.len() == PART {
                self.store_part().await?;
            }
            let room = PART - self.part.len();
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.part.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Makes the object appear, and gives its key.
    pub(in crate::pipeline) async fn finish(&mut self) -> PortResult<String> {
        if self.upload.is_some() {
            self.store_part().await?;
            self.complete().await?;
        } else {
            self.store_whole().await?;
        }
        self.part.clear();
        self.upload = None;
        Ok(std::mem::take(&mut self.key))
    }

    /// Gives up the object that was begun, if any. Its key is given back, as
    /// it may exist all the same: a store can fail after it has written.
    pub(in crate::pipeline) async fn abandon(&mut self) -> Option<String> {
        if let Some(upload) = &mut self.upload {
            // An upload that is not aborted is invisible, and expires.
            drop(patiently(self.ports, async || upload.abort().await).await);
        }
        Some(std::mem::take(&mut self.key)).filter(|key| !key.is_empty())
    }

    /// The key is ours alone: an object that already exists is from a try
    /// before.
    async fn store_whole(&self) -> PortResult<()> {
        let put = async || {
            let meta = ObjectMeta { content_type: self.content_type, custom: Vec::new() };
            self.ports.put_new(&self.key, &self.part, meta).await
        };
        patiently(self.ports, put).await.map(|_| ())
    }

    async fn store_part(&mut self) -> PortResult<()> {
        let (ports, key, part) = (self.ports, &self.key, &self.part);
        let content_type = self.content_type;
        let upload = if let Some(upload) = &mut self.upload {
            upload
        } else {
            let begin = async || ports.begin_upload(key, content_type).await;
            self.upload.insert(patiently(ports, begin).await?)
        };
        patiently(ports, async || upload.part(part).await).await?;
        self.part.clear();
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        let Some(upload) = &mut self.upload else {
            return Ok(());
        };
        let (ports, key) = (self.ports, &self.key);
        let complete = async || match upload.complete().await {
            Ok(()) => Ok(()),
            // It may have been done all the same.
            Err(error) => ports.head(key).await?.map(|_| ()).ok_or(error),
        };
        patiently(ports, complete).await
    }
}
