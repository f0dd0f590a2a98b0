//! A PDF on its way from R2 to Claude: base64 within JSON, a piece at a time.
use crate::claude::{Base64Stream, PdfBody};
use futures_util::{Stream, StreamExt, stream::unfold};
use worker::{ByteStream, Result};

enum Stage {
    Prefix(ByteStream, PdfBody),
    Data(ByteStream, Base64Stream, String),
    End,
}

/// The whole body, in pieces of about [`PIECE`] bytes.
pub(super) fn encoded(pdf: ByteStream, body: PdfBody) -> impl Stream<Item = Result<Vec<u8>>> {
    unfold(Stage::Prefix(pdf, body), |stage| async {
        match stage {
            Stage::Prefix(pdf, PdfBody { prefix, suffix }) => {
                let next = Stage::Data(pdf, Base64Stream::default(), suffix);
                Some((Ok(prefix.into_bytes()), next))
            }
            Stage::Data(pdf, encoder, suffix) => Some(piece(pdf, encoder, suffix).await),
            Stage::End => None,
        }
    })
}

async fn piece(
    mut pdf: ByteStream,
    mut encoder: Base64Stream,
    suffix: String,
) -> (Result<Vec<u8>>, Stage) {
    let mut out = String::with_capacity(PIECE + PIECE / 4);
    while out.len() < PIECE {
        match pdf.next().await {
            Some(Ok(chunk)) => encoder.push(&chunk, &mut out),
            Some(Err(error)) => return (Err(error), Stage::End),
            None => {
                encoder.finish(&mut out);
                out.push_str(&suffix);
                return (Ok(out.into_bytes()), Stage::End);
            }
        }
    }
    (Ok(out.into_bytes()), Stage::Data(pdf, encoder, suffix))
}

/// Large enough that crossing into JavaScript costs little, small enough that
/// many PDFs can be on their way at once.
const PIECE: usize = 64 * 1024;
