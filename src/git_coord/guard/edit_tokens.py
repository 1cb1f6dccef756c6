"""A command line taken apart as a POSIX shell does, without replacing anything."""

_ENDS = ("\n", ";", "&", "&&", "||", "|", "|&", "(", ")", ";;")

Token = tuple[str, str, bool]
"""Kind (`word`, `pattern`, `end`, `write`, `read`, `sub`: a command inside), text, whether it is certain."""


def tokens(line: str) -> list[Token]:
    """Return the tokens of any text; what is left open at its end ends there."""
    return _Reader(line).read()


class _Reader:
    """Takes a command line apart as a POSIX shell does, without replacing anything."""

    def __init__(self, line: str) -> None:
        self._line, self._at = line.replace("\0", ""), 0
        self._found: list[Token] = []
        self._word: str | None = None
        self._certain = True
        self._pattern = ""
        """The word with its quoted parts between NULs."""
        self._is_pattern = False
        self._redirects = ""
        self._documents: list[str] = []

    def read(self) -> list[Token]:
        line = self._line
        while self._at < len(line):
            char = line[self._at]
            if char in " \t\r":
                self._flush()
                self._at += 1
            elif char == "#" and self._word is None:
                self._at = len(line) if line.find("\n", self._at) < 0 else line.find("\n", self._at)
            elif char in "\n;&|()<>":
                self._operator(char)
            else:
                self._letter(char)
        self._flush()
        return self._found

    def _letter(self, char: str) -> None:
        self._word = self._word or ""
        if char == "\\":
            self._quote(self._line[self._at + 1 : self._at + 2].replace("\n", ""))
            self._at += 2
        elif char == "'":
            end = self._line.find("'", self._at + 1)
            end = len(self._line) if end < 0 else end
            self._quote(self._line[self._at + 1 : end])
            self._at = end + 1
        elif char == '"':
            self._at += 1
            self._quoted()
        elif char in "$`":
            self._expansion()
        else:
            self._certain = self._certain and char != "{"  # what braces come to is not known here
            self._pattern += char
            self._is_pattern = self._is_pattern or char in "*?["
            self._word += char
            self._at += 1

    def _quote(self, text: str) -> None:
        self._word = (self._word or "") + text
        self._pattern += f"\0{text}\0" if text else ""

    def _quoted(self) -> None:
        self._word = self._word or ""
        while self._at < len(self._line) and (char := self._line[self._at]) != '"':
            if char == "\\" and self._line[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`", "\n"):
                self._quote(self._line[self._at + 1].replace("\n", ""))
                self._at += 2
            elif char in "$`":
                self._expansion()
            else:
                self._quote(char)
                self._at += 1
        self._at += 1

    def _expansion(self) -> None:
        """Skip a replacement; a command inside is a token of its own."""
        self._certain = False
        line, start = self._line, self._at
        if line[start] == "`":
            end = line.find("`", start + 1)
            end = len(line) if end < 0 else end
            self._found.append(("sub", line[start + 1 : end], True))
        elif line[start + 1 : start + 2] == "(":
            end = self._closing(start + 1)
            self._found.append(("sub", line[start + 2 : end], True))
        else:
            self._at += 1
            return
        self._at = end + 1

    def _closing(self, start: int) -> int:
        depth, at, quote = 0, start, ""
        while at < len(self._line):
            char = self._line[at]
            if char == "\\" and quote != "'":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            else:
                depth += (char == "(") - (char == ")")
                if depth == 0:
                    return at
            at += 1
        return at

    def _operator(self, char: str) -> None:
        if char in "<>":
            self._redirect()
            return
        self._flush()
        if char == "\n" and self._documents:
            self._at += 1
            self._skip_documents()
            self._found.append(("end", "\n", True))
            return
        two = self._line[self._at : self._at + 2]
        if two == "&>":
            self._at += 1
            self._redirect()
            return
        text = two if two in _ENDS else char
        self._found.append(("end", text, True))
        self._at += len(text)

    def _redirect(self) -> None:
        # A number right before it is a descriptor and no word.
        if self._word is not None and self._word.isdigit():
            self._word = None
        self._flush()
        line, at = self._line, self._at
        for sign in ("<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"):
            if line.startswith(sign, at):
                break
        self._at += len(sign)
        if line[self._at : self._at + 1] == "(":  # `>(command)`
            end = self._closing(self._at)
            self._found.append(("sub", line[self._at + 1 : end], True))
            self._at = end + 1
            return
        self._redirects = {"<<": "document", "<<-": "document", ">&": "copy"}.get(
            sign, "write" if ">" in sign else "read"
        )

    def _skip_documents(self) -> None:
        for mark in self._documents:
            while self._at < len(self._line):
                end = self._line.find("\n", self._at)
                end = len(self._line) if end < 0 else end
                text, self._at = self._line[self._at : end], end + 1
                if text.strip("\t") == mark:
                    break
        self._documents = []

    def _flush(self) -> None:
        if self._word is None:
            return
        kind, self._redirects = self._redirects or "word", ""
        if kind == "document":
            self._documents.append(self._word)
        elif kind == "copy":  # `2>&1` names a descriptor, `>&file` a file
            if not self._word.isdigit() and self._word != "-":
                self._found.append(("write", self._word, self._certain))
        elif self._is_pattern and kind == "word" and self._certain:
            self._found.append(("pattern", self._pattern, True))
        else:
            self._found.append((kind, self._word, self._certain and not self._is_pattern))
        self._word, self._certain, self._pattern, self._is_pattern = None, True, "", False
