"""English clitics, abbreviations and frequent words, which a small treebank may lack."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# An English treebank contains at least half of these, and no other treebank does.
ENGLISH = ("the", "of", "and", "with", "that", "his", "they", "she")

CLITICS = ("'d", "'ll", "'m", "'re", "'s", "'ve", "n't")

DIVIDED = (
    ("can", "not"),
    ("d'", "ye"),
    ("du", "n", "no"),
    ("gim", "me"),
    ("gon", "na"),
    ("got", "ta"),
    ("lem", "me"),
    ("wan", "na"),
    ("'t", "is"),
    ("'t", "was"),
)  # fmt: skip

WHOLE = _words("'cause 'em 'n 'round 'til ma'am o'clock y'all")

# Abbreviations before a name or number, so that no sentence ends there.
TITLES = _words(
    "adm. atty. brig. capt. cmdr. col. cpl. det. dr. drs. gen. gov. hon. insp. lt. maj. messrs. "
    "mlle. mme. mr. mrs. ms. msgr. mt. ph.d. pres. prof. rep. reps. rev. sen. sens. sgt. supt. "
    "approx. art. cf. ch. dept. e.g. ed. eds. eq. eqs. fig. figs. ft. i.e. no. nos. p. pp. "
    "ref. refs. sec. st. ste. v. viz. vol. vols. vs."
)

# Titles that begin a sentence after another abbreviation, as no name has them inside.
COURTESY = _words("mr mrs ms messrs miss dr prof")

# Abbreviations before a number, and words otherwise.
NUMBERED = _words("art. ch. fig. figs. no. nos. p. pp. sec. v.")

ABBREVIATIONS = (
    *TITLES,
    *_words(
        "a.d. a.k.a. a.m. al. apr. assn. aug. ave. b.a. b.c. bd. bldg. blvd. bros. ca. calif. co. "
        "colo. conn. corp. d.c. dec. del. dist. e.u. esp. est. etc. ext. feb. fla. fri. ga. hr. "
        "hrs. ibid. ill. inc. incl. ind. intl. jan. jr. kan. ky. l.a. la. ltd. m.d. mar. mass. md. "
        "mich. min. minn. misc. mo. mon. n.c. n.h. n.j. n.m. n.y. nat. neb. nev. nov. oct. okla. "
        "op. ore. p.m. p.s. pa. pl. r.i. rd. rte. s.c. s.d. sat. sep. sept. sq. sr. sun. tenn. "
        "tex. thu. thur. thurs. tue. tues. u.k. u.n. u.s. u.s.a. u.s.s.r. univ. va. vt. w.va. "
        "wash. wed. wis. wyo. yr. yrs."
    ),
)

# Words that are capitalised only at the start of a sentence.
COMMON = _words(
    "a about after all also although an and another any as at because before both but by can "
    "could did do does during each even every for from had has have he her here his how "
    "however i if in instead it its just later many may maybe meanwhile more moreover most "
    "my no nor not now of on once one only or other our over perhaps please several she "
    "should since so some still such thanks that the their then there these they this those "
    "though through thus to today under until was we were what when where whether which "
    "while who why will with would yes yet you your"
)
