//! One form on its way in, part by part.
use super::{
    Form, MAX_FILES, UploadedFile,
    fields::Texts,
    filename::shown,
    form::refused,
    parts::{Part, Parts},
    spool::Spool,
};
use crate::{
    claude::{PdfInspector, PdfRefusal, max_pdf_bytes},
    domain::{BatchId, JobId},
    pipeline::{
        accept::discard,
        input::upload_key,
        places::Room,
        ports::{Ambient, Objects},
        problem::Problem,
    },
};

/// A form that is being received.
pub(super) struct Receiver<'a, P: Objects> {
    ports: &'a P,
    batch: BatchId,
    first: JobId,
    spool: Spool<'a, P>,
    files: Vec<UploadedFile>,
    texts: Texts,
}

impl<'a, P: Objects + Ambient> Receiver<'a, P> {
    pub(super) fn new(ports: &'a P, batch: BatchId, first: JobId) -> Self {
        let (spool, texts) = (Spool::new(ports, "application/pdf"), Texts::default());
        Self { ports, batch, first, spool, files: Vec::new(), texts }
    }

    /// Reads to the end. After an error, what was kept must be
    /// [undone](Self::undo).
    pub(super) async fn read(
        &mut self,
        mut parts: Parts<'_>,
        room: &mut impl Room,
    ) -> Result<(), Problem> {
        while let Some(part) = parts.next().await? {
            if part.name() == FILES {
                if let Err(problem) = self.file(part, room).await {
                    return Err(self.with_the_rest(parts, problem).await);
                }
            } else {
                let no_files = self.files.is_empty();
                self.texts.read(part, no_files).await?;
            }
        }
        if self.files.is_empty() {
            return Err(Problem::field(FILES, format!("no files in field `{FILES}`")));
        }
        Ok(())
    }

    /// There is no place for a file. Coming back cannot help a form that has
    /// more of them than any may have: some of the rest, which is read either
    /// way, may tell.
    async fn with_the_rest(&self, mut parts: Parts<'_>, problem: Problem) -> Problem {
        let Some(largest) = problem.limit.as_ref().and_then(|limit| limit.largest()) else {
            return problem;
        };
        let mut files = u64::try_from(self.files.len() + 1).unwrap_or(u64::MAX);
        let mut left = MOST_COUNTED;
        while let Ok(Some(mut part)) = parts.next().await {
            files += u64::from(part.name() == FILES);
            if files > largest {
                return Problem { quota: problem.quota, ..Problem::too_many(largest) };
            }
            while let Ok(Some(chunk)) = part.chunk().await {
                left = left.saturating_sub(chunk.len());
                if left == 0 {
                    return problem;
                }
            }
        }
        problem
    }

    pub(super) fn into_form(self) -> Form {
        Form { files: self.files, fields: self.texts.into_fields() }
    }

    /// Removes everything that was stored.
    pub(super) async fn undo(mut self) {
        let begun = self.spool.abandon().await;
        let kept = self.files.into_iter().map(|file| file.key);
        discard(self.ports, kept.chain(begun).collect()).await;
    }

    /// Keeps a file. The bytes decide what it is: clients leave out the name
    /// or the type, or send a wrong one.
    async fn file(&mut self, mut part: Part<'_>, room: &mut impl Room) -> Result<(), Problem> {
        let filename = shown(part.filename(), self.files.len());
        let Some(first) = part.chunk().await? else {
            return match part.filename() {
                // What a browser sends when no file was chosen.
                None | Some("") => Ok(()),
                Some(_) => Err(refused(&filename, &PdfRefusal::Empty)),
            };
        };
        let index = self.place()?;
        room.at_least(index + 1).await?;
        let job = match index {
            0 => self.first,
            _ => JobId::new(self.ports.now(), [self.ports.chance(), self.ports.chance()]),
        };
        self.spool.begin(upload_key(self.batch, job));
        // The model's limit is not known yet.
        let mut inspector = PdfInspector::new(max_pdf_bytes(0), u32::MAX);
        let mut next = Some(first);
        while let Some(chunk) = next {
            inspector.push(&chunk).map_err(|refusal| refused(&filename, &refusal))?;
            self.spool.write(&chunk).await?;
            next = part.chunk().await?;
        }
        let facts = inspector.finish().map_err(|refusal| refused(&filename, &refusal))?;
        let (bytes, pages) = (facts.bytes, facts.pages);
        let key = self.spool.finish().await?;
        self.files.push(UploadedFile { job, index, filename, key, bytes, pages });
        Ok(())
    }

    /// The place of the next file.
    fn place(&self) -> Result<u32, Problem> {
        let full = || Problem::field(FILES, format!("a batch takes at most {MAX_FILES} files"));
        let index = Some(self.files.len()).filter(|index| *index < MAX_FILES).ok_or_else(full)?;
        u32::try_from(index).map_err(|_| full())
    }
}

const FILES: &str = "files";
/// Others wait for a permit meanwhile.
const MOST_COUNTED: usize = 2_000_000;
