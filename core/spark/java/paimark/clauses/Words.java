package paimark.clauses;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.antlr.v4.runtime.ANTLRInputStream;
import org.antlr.v4.runtime.CharStream;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonToken;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.TokenSource;
import org.antlr.v4.runtime.misc.Interval;
import org.antlr.v4.runtime.misc.Pair;
import org.apache.spark.sql.catalyst.parser.ParserUtils;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;

/**
 * The words and symbols of a statement, as Spark's lexer makes them; some can be taken out before Spark parses them.
 *
 * <p>A plain word may contain {@code $}, so that {@code orders$snapshots} is one name. Positions count code points.
 */
final class Words {
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}_$]+");
    private static final int QUOTED_NAME = type("BACKQUOTED_IDENTIFIER");
    private static final int NUMBER = type("INTEGER_VALUE");

    final String text;
    private final Lexer lexer;
    private final List<Token> all = new ArrayList<>();
    private final List<Token> words;
    private final List<Token> written = new ArrayList<>();
    /** Of the words as written: what stands for one; null for one that was taken out. */
    private final Map<Token, Token> instead = new IdentityHashMap<>();

    Words(String text) {
        this.text = text;
        lexer = new Lexer(text);
        List<? extends Token> read = lexer.getAllTokens();
        for (int place = 0; place < read.size(); ) {
            int end = nameEnd(read, place);
            Token token = end > place + 1 ? name(read.get(place), read.get(end - 1)) : read.get(place);
            place = Math.max(end, place + 1);
            all.add(token);
            if (token.getChannel() == Token.DEFAULT_CHANNEL) {
                written.add(token);
            }
        }
        words = new ArrayList<>(written);
    }

    private static int type(String name) {
        int type = 1;
        while (!name.equals(SqlBaseLexer.VOCABULARY.getSymbolicName(type))) {
            type++;
        }
        return type;
    }

    /** The place after the word with {@code $} that begins here; no place behind it if there is none. */
    private static int nameEnd(List<? extends Token> read, int start) {
        int end = start;
        boolean isOne = false;
        while (end < read.size() && WORD.matcher(read.get(end).getText()).matches()) {
            boolean touches = end == start || read.get(end).getStartIndex() == read.get(end - 1).getStopIndex() + 1;
            if (!touches) {
                break;
            }
            boolean isDollar = read.get(end).getText().equals("$");
            if (isDollar && end + 1 < read.size() && read.get(end + 1).getText().equals("{")) {
                break;
            }
            isOne |= isDollar;
            end++;
        }
        return isOne ? end : start;
    }

    /** A name whose text Spark's parser takes for one in backticks, at the place where it is. */
    private static Token name(Token first, Token last) {
        Interval place = Interval.of(first.getStartIndex(), last.getStopIndex());
        return placed(first, QUOTED_NAME, '`' + first.getInputStream().getText(place) + '`', place.b);
    }

    /** A token with another text than what is at its place. */
    private static Token placed(Token like, int type, String text, int stop) {
        CharStream stream = new Named(like.getInputStream(), like.getStartIndex(), stop, text);
        CommonToken token = new CommonToken(
                new Pair<>(like.getTokenSource(), stream), type, like.getChannel(), like.getStartIndex(), stop);
        token.setLine(like.getLine());
        token.setCharPositionInLine(like.getCharPositionInLine());
        token.setText(text);
        return token;
    }

    private void replace(int index, Token token) {
        instead.put(written.get(index), token);
        words.set(index, token);
    }

    /** Lets a word reach to a position, so that what is taken out behind it belongs to the text around it. */
    void widen(int index, int end) {
        replace(index, placed(words.get(index), words.get(index).getType(), text(index), end - 1));
    }

    int size() {
        return words.size();
    }

    Token token(int index) {
        return words.get(index);
    }

    /** The text of a word; empty outside. */
    String text(int index) {
        return index >= 0 && index < words.size() ? words.get(index).getText() : "";
    }

    /** The text in upper case, to compare with keywords. */
    String upper(int index) {
        return text(index).toUpperCase(Locale.ROOT);
    }

    boolean is(int index, String... expected) {
        for (int ahead = 0; ahead < expected.length; ahead++) {
            if (!upper(index + ahead).equals(expected[ahead])) {
                return false;
            }
        }
        return true;
    }

    boolean isName(int index) {
        String text = text(index);
        return text.startsWith("`") || WORD.matcher(text).matches();
    }

    boolean isNumber(int index) {
        return !text(index).isEmpty() && text(index).chars().allMatch(each -> each >= '0' && each <= '9');
    }

    boolean isString(int index) {
        String text = text(index);
        boolean isRaw = text.length() > 1 && (text.charAt(0) == 'r' || text.charAt(0) == 'R');
        char first = text.isEmpty() ? ' ' : text.charAt(isRaw ? 1 : 0);
        return text.length() > 1 && (first == '\'' || first == '"');
    }

    /** The value of a string. */
    String string(int index) {
        return ParserUtils.string(words.get(index));
    }

    int start(int index) {
        return index < words.size() ? words.get(index).getStartIndex() : text.codePointCount(0, text.length());
    }

    /** The position after a word. */
    int end(int index) {
        return words.get(index).getStopIndex() + 1;
    }

    String between(int start, int end) {
        return text.substring(text.offsetByCodePoints(0, start), text.offsetByCodePoints(0, end));
    }

    /** Whether the last word before a position is a closing parenthesis. */
    boolean endsParenthesis(int position) {
        int index = words.size() - 1;
        while (index >= 0 && words.get(index).getStartIndex() >= position) {
            index--;
        }
        return is(index, ")");
    }

    /** Takes words out. */
    void take(int first, int last) {
        written.subList(first, last + 1).forEach(word -> instead.put(word, null));
    }

    /** Puts a number in the place of a word. */
    void number(int index, int number) {
        replace(index, placed(words.get(index), NUMBER, Integer.toString(number), end(index) - 1));
    }

    /** What is left, for Spark's parser, which wants a lexer. */
    TokenSource left() {
        List<Token> left = new ArrayList<>();
        for (Token token : all) {
            Token now = instead.containsKey(token) ? instead.get(token) : token;
            if (now != null) {
                left.add(now);
            }
        }
        return only(left);
    }

    /** These tokens of the statement for Spark's parser. */
    TokenSource only(List<Token> tokens) {
        lexer.replay(tokens);
        return lexer;
    }

    private static final class Lexer extends SqlBaseLexer {
        private Iterator<Token> again;

        Lexer(String text) {
            super(new UpperCaseCharStream(CharStreams.fromString(text)));
            removeErrorListeners();
        }

        void replay(List<Token> tokens) {
            again = tokens.iterator();
        }

        @Override
        public Token nextToken() {
            return again != null && again.hasNext() ? again.next() : super.nextToken();
        }
    }

    /** A text, but for the place of one name, where the parser finds the name without its quotes. */
    private static final class Named extends ANTLRInputStream {
        private final CharStream text;
        private final int start;
        private final int stop;
        private final String name;

        Named(CharStream text, int start, int stop, String written) {
            this.text = text;
            boolean isQuoted = written.startsWith("`");
            this.start = isQuoted ? start + 1 : start;
            this.stop = isQuoted ? stop - 1 : stop;
            this.name = isQuoted ? written.substring(1, written.length() - 1) : written;
        }

        @Override
        public String getText(Interval part) {
            return part.a == start && part.b == stop ? name : text.getText(part);
        }

        @Override
        public int size() {
            return text.size();
        }
    }
}
