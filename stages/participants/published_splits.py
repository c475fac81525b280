"""The participant ids of the paper's three splits. They are numbers; no data of a participant is here."""

from collections.abc import Mapping

_TRAIN = """
303 304 305 310 312 313 315 317 318 321 324 327 335 338 340 343 344 346 347 350 352 356 363 368 369 388 391 395 397 400
402 404 406 412 414 415 416 418 426 429 433 434 437 439 444 458 463 464 473 474 475 476 477 478 483 486 488 491
"""
_VAL = """
302 307 320 322 325 326 328 331 333 336 341 348 351 353 355 358 360 364 366 371 372 374 376 380 381 382 392 401 403 419
420 425 440 443 446 448 454 457 471 479 482 490 492
"""
_TEST = """
316 319 330 339 345 357 362 367 370 375 377 379 383 385 386 389 390 393 409 413 417 422 423 427 428 430 436 441 445 447
449 451 455 456 459 468 472 484 485 487 489
"""

PUBLISHED_SPLITS: Mapping[str, tuple[int, ...]] = {
    name: tuple(int(number) for number in numbers.split())
    for name, numbers in (("train", _TRAIN), ("val", _VAL), ("test", _TEST))
}
"""Part of the paper's splits -> participants: 58, 43 and 41, ascending and disjoint."""

PUBLISHED_IDS = tuple(sorted(number for numbers in PUBLISHED_SPLITS.values() for number in numbers))
"""All 142, ascending."""
