"""Words that cannot be the head of a phrase."""

STOP_WORDS = frozenset(
    word
    for line in (
        "a about above across after against along also among an and any are around as at be because been before",
        "behind below beneath beside between both but by can could did do does down during each either few for from",
        "had has have he her here hers him his how i if in into is it its just like many may me more most much my",
        "near neither no nor not of off on onto or other others our out over own she should since so some such than",
        "that the their them then there these they this those through to too toward towards under until up upon us",
        "very was we were what when where which while who whom whose why will with within without would you your",
    )
    for word in line.split()
)
