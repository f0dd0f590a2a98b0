//! R2 behind the `Objects` port.
use super::shell::{Shell, asked};
use crate::pipeline::ports::{ObjectMeta, Objects, PortError, PortResult, Upload, Written};
use js_sys::Uint8Array;
use std::collections::HashMap;
use wasm_bindgen::JsCast;
use worker::{Bucket, Conditional, HttpMetadata, MultipartUpload, UploadedPart};

impl Objects for Shell {
    type Upload = R2Upload;

    async fn put_new(&self, key: &str, body: &[u8], meta: ObjectMeta) -> PortResult<Written> {
        let absent = Conditional {
            etag_matches: None,
            etag_does_not_match: Some("*".to_owned()),
            uploaded_before: None,
            uploaded_after: None,
        };
        let bucket = asked(self.bucket())?;
        let put = bucket
            .put(key, stream_of(body)?)
            .only_if(absent)
            .http_metadata(typed(meta.content_type))
            .custom_metadata(meta.custom.into_iter().collect::<HashMap<_, _>>());
        let written = asked(put.execute().await)?;
        Ok(written.map_or(Written::AlreadyExisted, |_| Written::Wrote))
    }

    async fn head(&self, key: &str) -> PortResult<Option<Vec<(String, String)>>> {
        let Some(object) = asked(asked(self.bucket())?.head(key).await)? else {
            return Ok(None);
        };
        Ok(Some(asked(object.custom_metadata())?.into_iter().collect()))
    }

    async fn begin_upload(&self, key: &str, content_type: &'static str) -> PortResult<R2Upload> {
        let bucket = asked(self.bucket())?;
        let begun = bucket.create_multipart_upload(key).http_metadata(typed(content_type));
        let upload = asked(begun.execute().await)?;
        let id = upload.upload_id().await;
        Ok(R2Upload { bucket, key: key.to_owned(), id, upload, parts: Vec::new() })
    }

    async fn delete(&self, keys: Vec<String>) -> PortResult<()> {
        asked(asked(self.bucket())?.delete_multiple(keys).await)
    }
}

impl Shell {
    pub(super) fn bucket(&self) -> worker::Result<Bucket> {
        self.env.bucket("BUCKET")
    }
}

/// An upload in parts.
pub(super) struct R2Upload {
    bucket: Bucket,
    key: String,
    id: String,
    upload: MultipartUpload,
    parts: Vec<UploadedPart>,
}

impl Upload for R2Upload {
    async fn part(&mut self, body: &[u8]) -> PortResult<()> {
        let number = u16::try_from(self.parts.len() + 1)
            .map_err(|_| PortError::Refused("too many parts".to_owned()))?;
        let part = self.upload.upload_part(number, stream_of(body)?).await;
        self.parts.push(asked(part)?);
        Ok(())
    }

    async fn complete(&mut self) -> PortResult<()> {
        let parts =
            self.parts.iter().map(|part| UploadedPart::new(part.part_number(), part.etag()));
        let parts: Vec<_> = parts.collect();
        // `complete` consumes its handle, and it may have to be asked twice.
        let upload = asked(self.bucket.resume_multipart_upload(&self.key, &self.id))?;
        asked(upload.complete(parts).await).map(drop)
    }

    async fn abort(&mut self) -> PortResult<()> {
        asked(self.upload.abort().await)
    }
}

/// A stream of known length over a copy of `body` on the JavaScript side: one
/// copy in all, none of it in Wasm memory.
fn stream_of(body: &[u8]) -> PortResult<web_sys::ReadableStream> {
    let copy = Uint8Array::new_from_slice(body);
    let response = web_sys::Response::new_with_opt_buffer_source(Some(copy.unchecked_ref()));
    let stream = response.ok().and_then(|response| response.body());
    stream.ok_or_else(|| PortError::Refused("a body could not be made".to_owned()))
}

fn typed(content_type: &str) -> HttpMetadata {
    HttpMetadata { content_type: Some(content_type.to_owned()), ..HttpMetadata::default() }
}
