-- A filter of pandoc for ODT: formulas within a paragraph are no blocks.

function Para(found)
  if #found.content > 1 then
    for _, inline in ipairs(found.content) do
      if inline.t == 'Math' then
        inline.mathtype = 'InlineMath'
      end
    end
  end
  return found
end
