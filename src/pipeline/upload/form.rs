//! A form that was received: its files are kept, its fields are text.
use super::{Fields, filename};
use crate::{
    claude::{Instructions, MAX_REQUEST_BYTES, PdfRefusal, max_pages, max_pdf_bytes},
    domain::JobId,
    pipeline::{
        accept::discard,
        ports::{Ambient, Objects},
        problem::Problem,
    },
};

/// A form that was received.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Form {
    /// The files in the order sent; at least one.
    pub files: Vec<UploadedFile>,
    /// The other fields.
    pub fields: Fields,
}

/// A file that is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UploadedFile {
    /// The job it is for.
    pub job: JobId,
    /// Its place in the form, from 0.
    pub index: u32,
    /// The name to show.
    pub filename: String,
    /// Where it is kept.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// Its number of pages, where it could be told.
    pub pages: Option<u32>,
}

impl Form {
    /// Whether Claude takes the files with these instructions. They may come
    /// after the files, so the form was received without.
    ///
    /// # Errors
    ///
    /// A [`Problem`] that names the first file Claude would refuse; the caller
    /// then [discards](Self::discard) the form.
    pub fn check_for(&self, instructions: &Instructions<'_>) -> Result<(), Problem> {
        let around = instructions.pdf_body("").content_length(0);
        let max_bytes = max_pdf_bytes(around + filename::MAX_JSON_BYTES);
        let max_pages = max_pages(instructions.model);
        for file in &self.files {
            let refusal = match file.pages {
                _ if file.bytes > max_bytes => PdfRefusal::TooLarge { max: max_bytes },
                Some(pages) if pages > max_pages => {
                    PdfRefusal::TooManyPages { pages, max: max_pages }
                }
                Some(_) | None => continue,
            };
            return Err(refused(&file.filename, &refusal));
        }
        Ok(())
    }

    /// Removes the files again: the form led to nothing.
    pub async fn discard<P: Objects + Ambient>(&self, ports: &P) {
        let keys = self.files.iter().map(|file| file.key.clone());
        discard(ports, keys.collect()).await;
    }
}

/// The refusal of a file, by name.
pub(super) fn refused(filename: &str, refusal: &PdfRefusal) -> Problem {
    let detail = format!("{filename:?}: {refusal}");
    let problem = match refusal {
        PdfRefusal::TooLarge { .. } => Problem::too_large(format!(
            "{detail}, which is what a request to Claude has room for ({MAX_REQUEST_BYTES} bytes, \
             with the prompt, and the file in base64)"
        )),
        PdfRefusal::Empty | PdfRefusal::NotAPdf { .. } | PdfRefusal::TooManyPages { .. } => {
            Problem::invalid(detail)
        }
    };
    Problem { field: Some(filename.to_owned()), ..problem }
}
