// What the pages do beyond what htmx does. Everything works without it except copying.
