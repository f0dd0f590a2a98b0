//! PDF syntax, byte by byte (ISO 32000, 7.2 and 7.3), with the memory of one
//! short token.

/// What the page counter needs to see of a PDF.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Token<'a> {
    /// `/Name`, without the slash.
    Name(&'a [u8]),
    /// A number or a keyword.
    Word(&'a [u8]),
    /// A string, whatever is in it.
    Text,
    DictOpen,
    DictClose,
    ArrayOpen,
    ArrayClose,
}

/// Cuts bytes into tokens.
#[derive(Debug, Default)]
pub(super) struct Lexer {
    state: State,
    token: [u8; MAX_TOKEN],
    len: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Between,
    Word,
    Name,
    Comment,
    /// Inside `( )`, this many open.
    Text(u32),
    /// After a backslash inside `( )`.
    Escape(u32),
    /// After `<`.
    Less,
    Hex,
    /// After `>`.
    Greater,
}

impl Lexer {
    /// Takes a byte and hands over the tokens that end with it.
    pub(super) fn push(&mut self, byte: u8, mut hand_over: impl FnMut(Token<'_>)) {
        self.state = match self.state {
            State::Word | State::Name if is_regular(byte) => {
                self.keep(byte);
                self.state
            }
            State::Word => {
                hand_over(Token::Word(self.kept()));
                self.begin(byte, &mut hand_over)
            }
            State::Name => {
                hand_over(Token::Name(self.kept()));
                self.begin(byte, &mut hand_over)
            }
            State::Comment if matches!(byte, b'\r' | b'\n') => State::Between,
            State::Comment => State::Comment,
            State::Text(open) => text(byte, open, &mut hand_over),
            State::Escape(open) => State::Text(open),
            State::Less if byte == b'<' => {
                hand_over(Token::DictOpen);
                State::Between
            }
            State::Less | State::Hex if byte == b'>' => {
                hand_over(Token::Text);
                State::Between
            }
            State::Less | State::Hex => State::Hex,
            State::Greater if byte == b'>' => {
                hand_over(Token::DictClose);
                State::Between
            }
            State::Between | State::Greater => self.begin(byte, &mut hand_over),
        };
    }

    fn begin(&mut self, byte: u8, hand_over: &mut impl FnMut(Token<'_>)) -> State {
        self.len = 0;
        match byte {
            b'/' => State::Name,
            b'%' => State::Comment,
            b'(' => State::Text(1),
            b'<' => State::Less,
            b'>' => State::Greater,
            b'[' => {
                hand_over(Token::ArrayOpen);
                State::Between
            }
            b']' => {
                hand_over(Token::ArrayClose);
                State::Between
            }
            _ if is_regular(byte) => {
                self.keep(byte);
                State::Word
            }
            _ => State::Between,
        }
    }

    /// Keeps a byte of the token. What is too long matches no word we know.
    fn keep(&mut self, byte: u8) {
        if let Some(place) = self.token.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn kept(&self) -> &[u8] {
        self.token.get(..self.len).unwrap_or_default()
    }
}

fn text(byte: u8, open: u32, hand_over: &mut impl FnMut(Token<'_>)) -> State {
    match byte {
        b'\\' => State::Escape(open),
        b'(' => State::Text(open.saturating_add(1)),
        b')' if open <= 1 => {
            hand_over(Token::Text);
            State::Between
        }
        b')' => State::Text(open - 1),
        _ => State::Text(open),
    }
}

fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        0 | b'\t'
            | b'\n'
            | 0x0c
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}

const MAX_TOKEN: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdf_is_cut_into_tokens() {
        assert_eq!(
            tokens(b"7 0 obj<</Type/Page%/No\n/A(a\\)(b)c)/B<6F>/C[1 0 R]>>endobj "),
            "7 0 obj << /Type /Page /A () /B () /C [ 1 0 R ] >> endobj"
        );
    }

    #[test]
    fn a_long_token_is_cut_not_kept() {
        let long = b"/".iter().chain([b'x'; 900].iter()).chain(b" 1 ");
        let seen = tokens(&long.copied().collect::<Vec<_>>());
        assert_eq!(seen, format!("/{} 1", "x".repeat(MAX_TOKEN)));
    }

    fn tokens(bytes: &[u8]) -> String {
        let (mut lexer, mut seen) = (Lexer::default(), Vec::new());
        for byte in bytes {
            lexer.push(*byte, |token| seen.push(show(token)));
        }
        seen.join(" ")
    }

    fn show(token: Token<'_>) -> String {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match token {
            Token::Name(name) => format!("/{}", text(name)),
            Token::Word(word) => text(word),
            Token::Text => "()".to_owned(),
            Token::DictOpen => "<<".to_owned(),
            Token::DictClose => ">>".to_owned(),
            Token::ArrayOpen => "[".to_owned(),
            Token::ArrayClose => "]".to_owned(),
        }
    }
}
