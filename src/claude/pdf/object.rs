//! The top-level dictionary of one indirect object, as far as pages matter.
use super::lexer::Token;

/// What is known of the object being read.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// `Some` between `obj` and `endobj`.
    pub(super) number: Option<u64>,
    pub(super) kind: Kind,
    pub(super) count: Option<u64>,
    pub(super) length: Option<u64>,
    /// The page count a linearized file promises, for a file of this length.
    pub(super) linearized: bool,
    pub(super) pages: Option<u64>,
    pub(super) file_len: Option<u64>,
    pub(super) has_parent: bool,
    depth: u32,
    arrays: u32,
    place: Place,
}

/// The value of `/Type`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Kind {
    Page,
    /// A node of the page tree.
    Pages,
    /// A stream in which other objects hide.
    ObjectStream,
    #[default]
    Other,
}

/// Where in the dictionary the reader is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Place {
    #[default]
    BeforeKey,
    Value(Key),
    After(Key),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Key {
    Type,
    Count,
    Length,
    Pages,
    FileLen,
    Other,
}

impl Object {
    pub(super) fn begin(number: u64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }

    /// Takes a token between `obj` and `endobj`.
    pub(super) fn take(&mut self, token: Token<'_>) {
        let direct = self.depth == 1 && self.arrays == 0;
        match token {
            Token::DictOpen => self.depth = self.depth.saturating_add(1),
            Token::DictClose => self.depth = self.depth.saturating_sub(1),
            Token::ArrayOpen => self.arrays = self.arrays.saturating_add(1),
            Token::ArrayClose => self.arrays = self.arrays.saturating_sub(1),
            Token::Name(name) if direct => self.name(name),
            Token::Word(word) if direct => self.word(word),
            Token::Name(_) | Token::Word(_) | Token::Text => {}
        }
        // A string, or the end of an array or inner dictionary, is a value.
        if self.depth == 1 && self.arrays == 0 && !is_plain(token) {
            self.place = Place::BeforeKey;
        }
    }

    fn name(&mut self, name: &[u8]) {
        match self.place {
            Place::Value(key) => {
                if key == Key::Type {
                    self.kind = kind(name);
                }
                self.place = Place::BeforeKey;
            }
            Place::BeforeKey | Place::After(_) => {
                self.has_parent |= name == b"Parent";
                self.linearized |= name == b"Linearized";
                self.place = Place::Value(key(name));
            }
        }
    }

    fn word(&mut self, word: &[u8]) {
        match self.place {
            Place::Value(key) => {
                if let Some(slot) = self.slot(key) {
                    *slot = number(word);
                }
                self.place = Place::After(key);
            }
            // `3 0 R`: the number stands elsewhere.
            Place::After(key) if word == b"R" => {
                if let Some(slot) = self.slot(key) {
                    *slot = None;
                }
            }
            Place::After(_) | Place::BeforeKey => {}
        }
    }

    fn slot(&mut self, key: Key) -> Option<&mut Option<u64>> {
        match key {
            Key::Count => Some(&mut self.count),
            Key::Length => Some(&mut self.length),
            Key::Pages => Some(&mut self.pages),
            Key::FileLen => Some(&mut self.file_len),
            Key::Type | Key::Other => None,
        }
    }
}

pub(super) fn number(word: &[u8]) -> Option<u64> {
    str::from_utf8(word).ok()?.parse().ok()
}

fn is_plain(token: Token<'_>) -> bool {
    matches!(token, Token::Name(_) | Token::Word(_))
}

fn kind(name: &[u8]) -> Kind {
    match name {
        b"Page" => Kind::Page,
        b"Pages" => Kind::Pages,
        b"ObjStm" => Kind::ObjectStream,
        _ => Kind::Other,
    }
}

fn key(name: &[u8]) -> Key {
    match name {
        b"Type" => Key::Type,
        b"Count" => Key::Count,
        b"Length" => Key::Length,
        b"N" => Key::Pages,
        b"L" => Key::FileLen,
        _ => Key::Other,
    }
}
