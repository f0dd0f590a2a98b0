//! R2, in memory.
use crate::pipeline::ports::{ObjectMeta, PortError, PortResult, Written};
use std::collections::BTreeMap;

/// An object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredObject {
    /// Its content.
    pub body: Vec<u8>,
    /// MIME type.
    pub content_type: &'static str,
    /// Custom metadata.
    pub custom: Vec<(String, String)>,
}

/// All objects, and uploads under way.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    objects: BTreeMap<String, StoredObject>,
    uploads: BTreeMap<u64, OpenUpload>,
}

#[derive(Debug)]
struct OpenUpload {
    key: String,
    content_type: &'static str,
    parts: Vec<Vec<u8>>,
}

impl Bucket {
    pub(super) fn objects(&self) -> &BTreeMap<String, StoredObject> {
        &self.objects
    }

    pub(super) fn get(&self, key: &str) -> Option<&StoredObject> {
        self.objects.get(key)
    }

    pub(super) fn open_uploads(&self) -> usize {
        self.uploads.len()
    }

    pub(super) fn put_new(
        &mut self,
        key: &str,
        body: &[u8],
        meta: ObjectMeta,
    ) -> PortResult<Written> {
        let ObjectMeta { content_type, custom } = meta;
        let size: usize = custom.iter().map(|(name, value)| name.len() + value.len()).sum();
        let ascii = custom.iter().all(|(name, value)| name.is_ascii() && value.is_ascii());
        if size > MOST_METADATA || !ascii {
            return Err(PortError::Refused(format!("put: {size} bytes of metadata (10012)")));
        }
        if self.objects.contains_key(key) {
            return Ok(Written::AlreadyExisted);
        }
        let object = StoredObject { body: body.to_vec(), content_type, custom };
        self.objects.insert(key.to_owned(), object);
        Ok(Written::Wrote)
    }

    pub(super) fn delete(&mut self, keys: &[String]) {
        self.objects.retain(|key, _| !keys.contains(key));
    }

    pub(super) fn begin(&mut self, id: u64, key: &str, content_type: &'static str) {
        let upload = OpenUpload { key: key.to_owned(), content_type, parts: Vec::new() };
        self.uploads.insert(id, upload);
    }

    /// Stores the part of a number, counted from 0; one sent again replaces
    /// the first.
    pub(super) fn part(&mut self, id: u64, number: usize, body: &[u8]) -> PortResult<()> {
        let upload = self.uploads.get_mut(&id).ok_or_else(gone)?;
        upload.parts.truncate(number);
        upload.parts.push(body.to_vec());
        Ok(())
    }

    /// As R2 does: parts but the last are of one length, 5 MiB or more.
    pub(super) fn complete(&mut self, id: u64) -> PortResult<()> {
        let OpenUpload { key, content_type, parts } = self.uploads.remove(&id).ok_or_else(gone)?;
        let (_, before) = parts.split_last().ok_or_else(gone)?;
        let length = before.first().map_or(SHORTEST_PART, Vec::len);
        if length < SHORTEST_PART || before.iter().any(|part| part.len() != length) {
            return Err(PortError::Refused("parts of wrong lengths (10048)".to_owned()));
        }
        let object = StoredObject { body: parts.concat(), content_type, custom: Vec::new() };
        self.objects.insert(key, object);
        Ok(())
    }

    pub(super) fn abort(&mut self, id: u64) -> PortResult<()> {
        self.uploads.remove(&id).map(drop).ok_or_else(gone)
    }
}

fn gone() -> PortError {
    PortError::of_store("the specified multipart upload does not exist. (10024)".to_owned())
}

const MOST_METADATA: usize = 8_192;
const SHORTEST_PART: usize = 5 << 20;
