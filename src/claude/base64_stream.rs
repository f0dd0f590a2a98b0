//! Base64 of a file that passes by in chunks.
use base64::{Engine, engine::general_purpose::STANDARD};

/// Encodes chunks as they come. At most two bytes wait for the next chunk, so
/// a PDF of any size is sent with the memory of one chunk.
#[derive(Debug, Default)]
pub struct Base64Stream {
    waiting: Vec<u8>,
}

impl Base64Stream {
    /// Encodes a chunk, except for what does not fill a group of three bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut String) {
        let missing = (GROUP - self.waiting.len()) % GROUP;
        let (head, rest) = chunk.split_at(missing.min(chunk.len()));
        self.waiting.extend_from_slice(head);
        if self.waiting.len() == GROUP {
            STANDARD.encode_string(&self.waiting, out);
            self.waiting.clear();
        }
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % GROUP);
        STANDARD.encode_string(whole, out);
        self.waiting.extend_from_slice(tail);
    }

    /// Encodes what is left, padded.
    pub fn finish(self, out: &mut String) {
        STANDARD.encode_string(&self.waiting, out);
    }

    /// The length of the encoding of `bytes` bytes.
    #[must_use]
    pub const fn encoded_len(bytes: u64) -> u64 {
        bytes.div_ceil(3).saturating_mul(4)
    }
}

const GROUP: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        #[test]
        fn any_chunks_give_the_encoding_of_the_whole(
            chunks in vec(vec(any::<u8>(), 0..20), 0..20),
        ) {
            let (mut stream, mut out) = (Base64Stream::default(), String::new());
            for chunk in &chunks {
                stream.push(chunk, &mut out);
                prop_assert!(stream.waiting.len() < GROUP);
            }
            stream.finish(&mut out);
            let whole = chunks.concat();
            prop_assert_eq!(&out, &STANDARD.encode(&whole));
            prop_assert_eq!(out.len() as u64, Base64Stream::encoded_len(whole.len() as u64));
        }
    }
}
