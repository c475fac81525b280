"""A small vocabulary of clothes: aliases of one and of several tags, and tags that are not safe for work."""

from pathlib import Path

FILES = {
    "tags.csv": """\
name,category,count,aliases
shirt,0,900,tee|top_wear
hat,0,700,headgear|cap
coat,0,500,overcoat|winter_wear
scarf,0,450,winter_wear
gloves,0,400,mittens|winter_wear
trousers,0,800,pants
boots,0,300,
rare_brooch,0,3,
lingerie,0,600,unmentionables|night_wear
pyjamas,0,350,night_wear
red,1,2000,
blue,1,1800,
""",
    "tag_lists.txt": "\n".join(
        [
            *["shirt trousers blue"] * 9,
            *["hat coat scarf gloves"] * 8,
            *["coat scarf boots red"] * 6,
            *["lingerie red"] * 5,
            *["pyjamas blue"] * 4,
            *["boots trousers"] * 4,
        ]
    ),
    "ratings.csv": "tag,probability\nlingerie,0.99\npyjamas,0.2\nshirt,0.01\n",
}


def write_wardrobe(folder: Path) -> Path:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder
