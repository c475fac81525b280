"""Texts that would have an effect if a page did not escape them.

Whatever runs sets `top.ran`; whatever becomes an element has the attribute `intruder`.
"""

from typing import Final

HTML: Final = (
    "<script intruder>top.ran=1</script>",
    "\"><script intruder src='/static/vendor/htmx.min.js' onload='top.ran=1'></script>",
    "'><img intruder src=x onerror=top.ran=1>",
    "<svg intruder onload=top.ran=1><script intruder>top.ran=1</script></svg>",
    "<svg intruder><a xlink:href='javascript:top.ran=1'><text x=9 y=9>a</text></a><animate onbegin=top.ran=1></svg>",
    "<math intruder><mtext><table><mglyph><style><img src=x onerror=top.ran=1></style></mglyph></table></mtext></math>",
    "</textarea><script intruder>top.ran=1</script>",
    "</title><script intruder>top.ran=1</script>",
    "</pre></details></table></section></main><img intruder src=x onerror=top.ran=1>",
    "--><!-- ><script intruder>top.ran=1</script>",
    "<iframe intruder srcdoc='<script>top.ran=1</script>'></iframe>",
    "<object intruder data='data:text/html,<script>top.ran=1</script>'></object>",
    "<embed intruder src='javascript:top.ran=1'>",
    "<base intruder href='http://127.0.0.2:9/'>",
    "<meta intruder http-equiv=refresh content='0;url=http://127.0.0.2:9/'>",
    "<link intruder rel=stylesheet href='http://127.0.0.2:9/style.css'>",
    "<style intruder>body{background:url(http://127.0.0.2:9/seen)}</style>",
    "<form intruder action='http://127.0.0.2:9/'><button intruder autofocus onfocus=top.ran=1>Log in</button></form>",
    "<div intruder hx-get='/rag' hx-trigger='load' hx-on::load='top.ran=1' hx-on:htmx:load='top.ran=1'>a</div>",
    "<div intruder data-hx-get='http://127.0.0.2:9/' data-hx-trigger='load'>a</div>",
    "<div intruder hx-ext='sse' sse-connect='http://127.0.0.2:9/' sse-swap='changed'>a</div>",
    '" autofocus onfocus="top.ran=1" intruder="',
    "' onmouseover='top.ran=1' intruder='",
    "` onmouseover=`top.ran=1` intruder=`",
    "javascript:top.ran=1",
    "&lt;script intruder&gt;top.ran=1&lt;/script&gt;",
    "\\x3cscript intruder\\x3etop.ran=1\\x3c/script\\x3e",
    "<\u200bscript intruder>top.ran=1</script>",
    "<ſcript intruder>top.ran=1</ſcript>",
    "\u202e<script intruder>top.ran=1</script>\u202c",
    "{{ 7 * 191 }}{% for _ in range(3) %}{{ self.__class__ }}{% endfor %}",
    "{{ request.app.state.services }}${7*191}#{7*191}",
)

MARKDOWN: Final = (
    "[run](javascript:top.ran=1)",
    "[run](JaVaScRiPt&colon;top.ran=1 'title')",
    "[run](java\tscript:top.ran=1)",
    "[run](&#106;avascript:top.ran=1)",
    "[run](vbscript:top.ran=1) [run](data:text/html;base64,PHNjcmlwdD50b3AucmFuPTE8L3NjcmlwdD4=)",
    "<javascript:top.ran=1>",
    "[run]: javascript:top.ran=1\n\n[run]",
    "![seen](http://127.0.0.2:9/seen.png)",
    "![run](data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0idG9wLnJhbj0xIi8+)",
    '![run](x "a\\" onerror=top.ran=1 intruder")',
    '[S1](javascript:top.ran=1) [S1]<img intruder src=x onerror=top.ran=1> [S1" onmouseover=top.ran=1 intruder="]',
    "[<img intruder src=x onerror=top.ran=1>](http://127.0.0.1/)",
    "```<script intruder>top.ran=1</script>\n<script intruder>top.ran=1</script>\n```",
    "```html' onmouseover='top.ran=1' intruder='\na\n```",
    "| a <img intruder src=x onerror=top.ran=1> |\n|---|\n| <script intruder>top.ran=1</script> |",
    "<details intruder open ontoggle=top.ran=1>a</details>",
    "<a intruder href='javascript:top.ran=1'>run</a>",
)

SCRIPTS: Final = (*HTML, *MARKDOWN)
